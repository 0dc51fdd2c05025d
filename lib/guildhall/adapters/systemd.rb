# frozen_string_literal: true

require "guildhall/soft_dependency"

module Guildhall
  module Adapters
    # Tells systemd, by the gem sd_notify, when the server process is ready, when it stops, and, where the unit has a WatchdogSec, that
    # it is alive. Used where systemd asks for it (`Type=notify`).
    class Systemd
      POLL_SECONDS = 0.2 # until it is ready
      MICROSECONDS = 1_000_000
      private_constant :POLL_SECONDS, :MICROSECONDS

      # @param application [Kafka::Application]
      # @param health [Kafka::Health]
      # @raise [MissingDependencyError] without the gem sd_notify
      def initialize(application, health)
        SoftDependency.require!("sd_notify", gem: "sd_notify", purpose: "a unit of systemd with Type=notify")
        @application = application
        @health = health
        @stopped = Thread::Queue.new
        application.instrumentation.subscribe("app.stopping") { ::SdNotify.stopping }
      end

      # @return [self]
      def start
        @thread = Thread.new do
          sleep_until { @health.ready.ok? } && ::SdNotify.ready
          watch if ::SdNotify.watchdog?
        end
        @thread.name = "guildhall systemd"
        self
      end

      # @return [void]
      def stop
        @stopped.close
        @thread&.join(1)
      end

      private

      # Twice within the time after which systemd ends a process that says nothing.
      def watch
        pause = Integer(ENV.fetch("WATCHDOG_USEC")).fdiv(MICROSECONDS) / 2
        until @stopped.closed?
          ::SdNotify.watchdog if @health.live.ok?
          @stopped.pop(timeout: pause)
        end
      end

      def sleep_until
        until (so = yield) || @stopped.closed?
          @stopped.pop(timeout: POLL_SECONDS)
        end
        so
      end
    end
  end
end
