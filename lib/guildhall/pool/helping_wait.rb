# frozen_string_literal: true

module Guildhall
  class Pool
    # How a caller waits for outcomes: it runs unclaimed payloads of its own batch while no worker is free to, and sleeps
    # otherwise. It gives up the GVL at least every 5 ms, between two payloads. What interrupts the thread acts at once, also
    # while a payload runs.
    class HelpingWait
      # How long to sleep before looking again whether help is needed, or the supervisor is; doubled each time.
      FIRST_PAUSE_SECONDS = 0.005
      LONGEST_PAUSE_SECONDS = 0.1
      def initialize(pool, batch)
        @pool = pool
        @batch = batch
        @stalled = false
      end

      # @param index [Integer, nil] nil: all
      # @param limit [Float, nil] of the {Clock}
      # @return [Boolean] false when the time was up
      def wait(index, limit = nil)
        return in_a_thread { wait(index, limit) } if Fiber.current_scheduler

        until_so(limit, -> { index ? done?(index) : @batch.complete? }) do |pause|
          help(index) || wait_for { @batch.trial? ? @batch.wait_beyond(0, pause) : @batch.wait(index, pause) }
        end
      ensure
        @batch.let_go
      end

      # @param count [Integer] returns as soon as there are more outcomes
      # @param limit [Float, nil] of the {Clock}
      # @return [Boolean]
      def wait_beyond(count, limit = nil)
        return in_a_thread { wait_beyond(count, limit) } if Fiber.current_scheduler

        until_so(limit, -> { @batch.done > count }) { |pause| help(nil) || wait_for { @batch.wait_beyond(count, pause) } }
      end

      private

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

      def until_so(limit, condition)
        pause = FIRST_PAUSE_SECONDS
        until condition.call
          left = limit && (limit - Clock.now)
          return false if left && left <= 0

          yield(left ? [pause, left].min : pause)
          pause = [pause * 2, LONGEST_PAUSE_SECONDS].min
          @pool.supervise
        end
        true
      end

      # A reader that has waited without progress runs payloads even if there are enough threads.
      def wait_for
        before = @batch.done
        yield
        @stalled = @batch.done == before
      end

      # @return [Boolean] whether there was something to run
      def help(index)
        return false unless @batch.help?(index, @stalled)

        with_logger { index && !@batch.parallel? ? @batch.run_at(index) : @batch.help }
        @pool.spread(@batch) if @batch.spreads?
        true
      end

      # Tasks find it there; what the thread does besides is none of theirs.
      def with_logger
        return yield unless (logger = @pool.settings.logger)

        begin
          before = Thread.current.thread_variable_get(:guildhall_logger)
          Thread.current.thread_variable_set(:guildhall_logger, logger)
          yield
        ensure
          Thread.current.thread_variable_set(:guildhall_logger, before)
        end
      end

      def done?(index)
        !NONE.equal?(@batch.at(index, NONE))
      end

      NONE = Object.new.freeze
      private_constant :NONE
    end
  end
end
