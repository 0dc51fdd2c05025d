# frozen_string_literal: true

require_relative "server/supervision"

module Guildhall
  module Kafka
    # Runs an application as a process: until a signal asks it to stop.
    #
    # INT, TERM, QUIT, HUP: finish the work in progress, commit, leave the group, exit; the second one ends the process at once.
    # An error after which a group cannot be consumed any more ends the process in the same way, with status 1.
    # TSTP: no new work, but stay in the group. TTIN: what every thread and partition is doing, on standard error.
    class Server
      STOP = %w[INT TERM QUIT HUP].freeze
      SIGNALS = [*STOP, "TSTP", "TTIN"].freeze
      FAILED = "failed"
      UNFINISHED = "not all work was finished within the shutdown timeout"
      STUCK = "the shutdown timeout is over, and the process has not stopped"
      TWICE = "a second signal"
      private_constant :FAILED, :UNFINISHED, :STUCK, :TWICE
      GRACE_SECONDS = 2 # beyond the shutdown timeout, after which the process leaves come what may

      # @param application [Application]
      # @param err [IO]
      def initialize(application, err: $stderr)
        @application = application
        @err = err
        @signals = Thread::Queue.new
      end

      # Blocks until the application has stopped.
      # @param selection [Hash{Symbol=>Array<String>, nil}] as in {Kafka.start}
      # @return [Integer] the exit status: 0, or 1 when the deadline came before the end of the work, or a group could not be
      #   consumed any more
      def run(**selection)
        previous = trap_signals
        @application.on_failure { @signals << FAILED }
        settle_down
        supervision = Supervision.new(@application).start
        @application.start(**selection)
        signal = @signals.pop
        signal = handle(signal) until STOP.include?(signal) || signal == FAILED
        return leave(UNFINISHED) unless stop

        @application.failure ? 1 : 0
      ensure
        supervision&.stop
        previous&.each { |name, handler| trap(name, handler || "DEFAULT") }
      end

      private

      # What was loaded is here to stay: collections need not go through all of it again while the first messages come.
      # Compacting beside other Ractors crashes Ruby 3.4.
      def settle_down
        Process.warmup if Ractor.count == 1
      end

      # Inside a trap no lock can be taken: it only passes the signal on. What is ignored, as HUP under nohup, stays so.
      def trap_signals
        SIGNALS.to_h do |name|
          previous = trap(name) { @signals << name }
          trap(name, "IGNORE") if previous == "IGNORE"
          [name, previous]
        end
      end

      def handle(signal)
        signal == "TTIN" ? dump : @application.quiet
        @signals.pop
      end

      def stop
        stopper = Thread.new { @application.stop }
        limit = Clock.now + @application.config.shutdown_timeout + GRACE_SECONDS
        until stopper.join(0.05)
          leave(STUCK) if Clock.now > limit
          leave(TWICE) if second_signal?
        end
        stopper.value
      end

      def second_signal?
        signal = @signals.pop(timeout: 0)
        dump if signal == "TTIN"
        STOP.include?(signal)
      end

      # What did not end in time would hold up an orderly exit as well.
      def leave(reason)
        left = @application.unfinished | @application.partitions.select(&:working?).map(&:to_s)
        @err.puts("guildhall: #{reason}: the process ends now#{"; still at work: #{left.join(", ")}" if left.any?}")
        [$stdout, @err].each(&:flush)
      ensure
        exit!(1) # even if the log is not read
      end

      def dump
        Thread.list.each { |thread| @err.puts("#{thread.inspect}\n  #{(thread.backtrace || []).first(20).join("\n  ")}") }
        @application.partitions.each { |partition| @err.puts(partition.inspect) }
        flight = @application.backpressure
        @err.puts("in flight: #{flight.messages} of #{flight.max_messages} messages, #{flight.bytes} of #{flight.max_bytes} bytes")
      end
    end
  end
end
