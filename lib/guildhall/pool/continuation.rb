# frozen_string_literal: true

module Guildhall
  class Pool
    # What `future.then { … }` and its like come to. Used in the main Ractor, by any of its threads and fibers.
    class Continuation
      include Chainable

      WAITS_FOR_ITSELF = "the block of this continuation reads or returns it: it would wait for itself"
      private_constant :WAITS_FOR_ITSELF

      # Made by the methods of {Chainable}.
      def initialize(pool)
        @pool = pool
        @lock = Mutex.new
        @done = ConditionVariable.new
        @state = :pending
        @waiting = []
        @process = Process.pid
      end

      # @param timeout [Numeric, nil] seconds; nil: no limit
      # @return [Object] what the block returned
      # @raise [TimeoutError]
      # @raise [CancelledError]
      # @raise [PoolClosedError] in a child process, where it was not there before the fork: the block runs in the parent
      # @raise what the batch or the block raised
      def value(timeout: nil)
        raise TimeoutError, "not done after #{timeout} s; it continues" unless wait(timeout:)

        @error ? raise(@error) : @value
      end

      # @param timeout [Numeric, nil] seconds; nil: no limit
      # @return [Boolean] false when the time was up
      # @raise [PoolClosedError] as {#value}
      def wait(timeout: nil)
        limit = Clock.deadline(timeout)
        until ready?
          raise PoolClosedError, "this continuation belongs to the process before the fork, and runs there" if forked?
          raise Guildhall::ArgumentError, WAITS_FOR_ITSELF if Thread.current == @running

          left = limit && (limit - Clock.now)
          return false if left && left <= 0

          pause = [left, HelpingWait::PAUSES.longest].compact.min
          @pool.notifier.blocking { @lock.synchronize { @done.wait(@lock, pause) unless ready? } }
          @pool.supervise
        end
        true
      end

      # @return [Boolean] whether the outcome is there
      def ready?
        @state == :done
      end

      # Settles it with a CancelledError. A block that has not begun is not called; one that has begins nothing new. What it
      # comes after goes on.
      # @return [Boolean] false when the outcome was there already
      def cancel
        settle(nil, CancelledError.new("cancelled before it was done"))
      end

      def inspect
        "#<Guildhall::Pool::Continuation #{ready? ? @error&.class || "done" : "pending"}>"
      end

      # @api private
      def settled(&callback)
        waits = @lock.synchronize { @waiting << callback unless ready? } unless forked?
        @pool.notifier.post { callback.call(self) } unless waits
      end

      # Runs the block, unless this was cancelled; a future that it returns is waited for.
      # @api private
      def resolve
        return if ready?

        error = TaskError.new("the block was left before its end")
        @running = Thread.current
        value = yield
        error = (Guildhall::ArgumentError.new(WAITS_FOR_ITSELF) if equal?(value))
      rescue Exception => error # rubocop:disable Lint/RescueException -- it is raised to the reader of the value
        nil
      ensure
        @running = nil
        error.nil? && Chainable === value ? value.settled { |future| resolve { future.value } } : settle(value, error)
      end

      private

      def forked?
        @process != Process.pid
      end

      # @return [Boolean] false when it was settled before
      def settle(value, error)
        waiting = @lock.synchronize do
          next if ready?

          @value = value
          @error = error
          @state = :done
          @done.broadcast
          @waiting
        end
        waiting&.each { |callback| @pool.notifier.post { callback.call(self) } }
        !waiting.nil?
      end
    end
  end
end
