# frozen_string_literal: true

require "timeout"

module Guildhall
  class Pool
    # How a caller waits for outcomes: it runs unclaimed payloads of its own batch while no worker is free to, and sleeps
    # otherwise. It gives up the GVL at least every 5 ms, between two payloads.
    class Reader
      # How long to sleep before looking again whether help is needed, or the coordinator is; doubled each time.
      FIRST_PAUSE = 0.005
      LONGEST_PAUSE = 0.1
      # What may interrupt a payload in its reader's thread. Anything else would be taken for the task's own exception.
      HELD = {::Timeout::ExitException => :immediate, SignalException => :immediate, Object => :never}.freeze

      # Runs the block, which runs payloads.
      # @param native [Boolean] no Ruby runs in it, so that nothing can interrupt it half-way
      def self.interruptibly(native, &)
        native ? yield : Thread.handle_interrupt(HELD, &)
      end

      def initialize(pool, batch)
        @pool = pool
        @batch = batch
        @stalled = false
      end

      # @param index [Integer, nil] nil: all
      # @param timeout [Numeric, nil] seconds
      # @return [Boolean] false when the time was up
      def wait(index, timeout = nil)
        return in_a_thread { wait(index, timeout) } if Fiber.current_scheduler

        until_so(timeout, -> { index ? done?(index) : @batch.complete? }) do |pause|
          help(index) || wait_for { @batch.wait(index, pause) }
        end
      end

      # @param count [Integer] returns as soon as there are more outcomes
      # @return [Boolean]
      def wait_beyond(count)
        return in_a_thread { wait_beyond(count) } if Fiber.current_scheduler

        until_so(nil, -> { @batch.done > count }) { |pause| help(nil) || wait_for { @batch.wait_beyond(count, pause) } }
      end

      private

      # Blocking calls of ours are native and unknown to a fiber scheduler; joining a thread is known to it.
      def in_a_thread(&)
        Thread.new(&).tap { |thread| thread.report_on_exception = false }.value
      end

      def until_so(timeout, condition)
        limit = timeout && (Clock.now + timeout)
        pause = FIRST_PAUSE
        until condition.call
          left = limit && (limit - Clock.now)
          return false if left && left <= 0

          yield(left ? [pause, left].min : pause)
          pause = [pause * 2, LONGEST_PAUSE].min
          @pool.supervise
        end
        true
      end

      # Whoever has waited and seen nothing happen runs payloads even where there are enough hands.
      def wait_for
        before = @batch.done
        yield
        @stalled = @batch.done == before
      end

      # @return [Boolean] whether there was something to run
      def help(index)
        return false unless @batch.help?(index, @stalled)

        Thread.current.thread_variable_set(:guildhall_logger, @pool.settings.logger) if @pool.settings.logger
        Reader.interruptibly(@batch.native?) { index && !@batch.parallel? ? @batch.run_at(index) : @batch.help }
        true
      end

      def done?(index)
        !NONE.equal?(@batch.at(index, NONE))
      end

      NONE = Object.new.freeze
      private_constant :NONE
    end
  end
end
