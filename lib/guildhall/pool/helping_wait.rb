# frozen_string_literal: true

require_relative "../growing_pauses"

module Guildhall
  class Pool
    # How the reader of a future waits: it runs unclaimed payloads of its own batch while no worker is free to, and sleeps
    # otherwise. It gives up the GVL at least every 5 ms, between two payloads. What interrupts the thread acts at once, also
    # while a payload runs.
    module HelpingWait
      # How long to sleep before looking again whether help is needed, or the supervisor is.
      PAUSES = GrowingPauses.new(0.005, 0.1) # seconds

      private

      # @param index [Integer, nil] of the payload whose outcome is waited for; nil: there are to be more outcomes than `beyond`
      # @param limit [Float, nil] of the {Clock}
      # @return [Boolean] false when the time was up
      def wait_for(index, beyond, limit)
        @pool.notifier.blocking do
          Fiber.current_scheduler ? in_a_thread { help_and_sleep(index, beyond, limit) } : help_and_sleep(index, beyond, limit)
        end
      end

      # Blocking calls of ours are native and unknown to a fiber scheduler; joining a thread is known to it. Where the fiber is
      # cancelled, the thread ends. Its short turns leave the reactor responsive.
      def in_a_thread(&)
        thread = Thread.new(&)
        thread.report_on_exception = false
        thread.priority = -3
        thread.value
      ensure
        thread&.kill
      end

      # A reader that has waited without progress runs payloads even if there are enough threads.
      def help_and_sleep(index, beyond, limit)
        pause = PAUSES.first
        stalled = false
        until index ? ready?(index) : done > beyond
          left = limit && (limit - Clock.now)
          return false if left && left <= 0

          @batch.reset_after_fork
          unless help(index, stalled)
            before = done
            @batch.wait(index, beyond, left ? [pause, left].min : pause)
            stalled = done == before
          end
          pause = PAUSES.after(pause)
          @pool.supervise
        end
        true
      ensure
        @batch.let_go
      end

      # @return [Boolean] whether there was something to run
      def help(index, stalled)
        return false unless @batch.help?(index, stalled)

        @pool.with_logger { @batch.help(index) }
        @pool.spread(@batch) if @batch.spreads?
        true
      end
    end
  end
end
