# frozen_string_literal: true

module Guildhall
  class Pool
    # What `future.then { … }` comes to. Used in the main Ractor, by any thread.
    class Continuation
      # @param pool [#supervise]
      def initialize(pool)
        @pool = pool
        @lock = Mutex.new
        @done = ConditionVariable.new
        @finished = false
      end

      # @param timeout [Numeric, nil] seconds; nil: no limit
      # @return [Object] what the block returned
      # @raise [TimeoutError]
      # @raise what the batch or the block raised
      def value(timeout: nil)
        limit = timeout && (Clock.now + timeout)
        @lock.synchronize do
          until @finished
            left = limit && (limit - Clock.now)
            raise TimeoutError, "not done after #{timeout} s" if left && left <= 0

            @done.wait(@lock, [left, Reader::LONGEST_PAUSE].compact.min)
            @pool.supervise
          end
        end
        @error ? raise(@error) : @value
      end

      # @return [Boolean]
      def ready?
        @finished
      end

      # @api private
      def fulfil
        @error = TaskError.new("the block was left before its end")
        @value = yield
        @error = nil
      rescue Exception => error # rubocop:disable Lint/RescueException -- it belongs to whoever asks for the value
        @error = error
      ensure
        @lock.synchronize do
          @finished = true
          @done.broadcast
        end
      end
    end
  end
end
