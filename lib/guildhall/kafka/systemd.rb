# frozen_string_literal: true

require "guildhall/soft_dependency"

module Guildhall
  module Kafka
    # Tells systemd, by the gem sd_notify, when the server process is ready, when it stops, and, where the unit has a WatchdogSec, that
    # it is alive. Used where systemd asks for it (`Type=notify`).
    class Systemd
      POLL_SECONDS = 0.2 # until it is ready
      MICROSECONDS = 1_000_000
      private_constant :POLL_SECONDS, :MICROSECONDS

      # @raise [MissingDependencyError] without the gem sd_notify
      def initialize(application, health)
        SoftDependency.require!("sd_notify", gem: "sd_notify", purpose: "a unit of systemd with Type=notify")
        @application = application
        @health = health
        @stopped = Thread::Queue.new
        @ready = @reported = false
        application.instrumentation.subscribe("app.stopping") { notify(:stopping) }
      end

      def start
        @thread = Thread.new do
          while (pause = tell) && !@stopped.closed?
            @stopped.pop(timeout: pause)
          end
        end
        @thread.name = "guildhall systemd"
        self
      end

      # Sends systemd the current notifications; call it from a loop of your own instead of {#start}. Does not block. What systemd
      # has not received is sent again the next time; the first failure of a series is an event `error.occurred`.
      # @return [Float, nil] seconds after which it has to be called again; nil: never
      def tell
        unless @ready
          return POLL_SECONDS unless @health.ready.ok? && notify(:ready)

          @ready = true
        end
        watch if ::SdNotify.watchdog?
      end

      def stop
        @stopped.close
        @thread&.join(1)
      end

      private

      # @return [Boolean] whether systemd has got it
      def notify(message)
        ::SdNotify.public_send(message)
        @reported = false
        true
      rescue ::SdNotify::NotifyError => error
        @application.error(error, "systemd") unless @reported
        @reported = true
        false
      end

      # Twice within the time after which systemd ends a process that says nothing.
      def watch
        notify(:watchdog) if @health.live.ok?
        Integer(ENV.fetch("WATCHDOG_USEC")).fdiv(MICROSECONDS) / 2
      end
    end
  end
end
