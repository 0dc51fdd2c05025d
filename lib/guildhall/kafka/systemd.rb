# frozen_string_literal: true

require "guildhall/error_boundary"
require "guildhall/soft_dependency"

module Guildhall
  module Kafka
    # Tells systemd, by the gem sd_notify, when the server process is ready and when it stops, and, if the unit has a WatchdogSec, that it
    # is alive. Used if systemd asks for it (`Type=notify`).
    # @api private
    class Systemd
      POLL_SECONDS = 0.2 # until it is ready
      MICROSECONDS = 1_000_000
      private_constant :POLL_SECONDS, :MICROSECONDS

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

      # Sends what is due; call it from a loop of your own instead of {#start}. Does not block. What systemd has not received is sent again
      # the next time; the first failure of a series, whatever has failed, is an event `error.occurred`.
      # @return [Float, nil] seconds after which it has to be called again; nil: never
      def tell
        ErrorBoundary.run(method(:report)) { return send_due }
        POLL_SECONDS
      end

      def stop
        @stopped.close
        @thread&.join(1)
      end

      private

      def send_due
        @ready ||= @health.ready.ok? && notify(:ready)
        return POLL_SECONDS unless @ready
        return unless ::SdNotify.watchdog?

        notify(:watchdog) if @health.live.ok?
        Integer(ENV.fetch("WATCHDOG_USEC")).fdiv(MICROSECONDS) / 2 # systemd ends a process that is silent for twice as long
      end

      def notify(message)
        ::SdNotify.public_send(message)
        @reported = false
        true
      rescue ::SdNotify::NotifyError => error
        report(error)
        false
      end

      def report(error)
        @application.error(error, "systemd") unless @reported
        @reported = true
      end
    end
  end
end
