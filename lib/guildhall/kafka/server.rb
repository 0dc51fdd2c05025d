# frozen_string_literal: true

module Guildhall
  module Kafka
    # Runs an application as a process: until a signal asks it to stop.
    class Server
      SIGNALS = %w[INT TERM].freeze

      # @param application [Application]
      def initialize(application)
        @application = application
        @signals = Thread::Queue.new
      end

      # Blocks until the application has stopped.
      # @return [Integer] the exit status: 0, or 1 when the deadline came before the end of the work
      def run(groups: nil, topics: nil)
        @application.start(groups:, topics:)
        previous = trap_signals
        signal = @signals.pop
        clean = stop(signal)
        clean ? 0 : 1
      ensure
        previous&.each { |name, handler| trap(name, handler) }
      end

      private

      # Inside a trap no lock can be taken: it only passes the signal on.
      def trap_signals
        SIGNALS.to_h { |name| [name, trap(name) { @signals << name }] }
      end

      def stop(_signal)
        stopper = Thread.new { @application.stop }
        until stopper.join(0.05)
          exit!(1) unless @signals.empty? # asked twice
        end
        stopper.value
      end
    end
  end
end
