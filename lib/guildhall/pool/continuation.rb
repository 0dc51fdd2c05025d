# frozen_string_literal: true

module Guildhall
  class Pool
    # Shared by futures and continuations: blocks that run when the outcome is there.
    #
    # The blocks run in threads of the pool's own, one after the other. One that waits for another future, or takes long, does
    # not hold up the rest.
    module Chainable
      # Calls the block when the outcome is there; what it raises is reported with `warn`. A deferred batch is run for it.
      # @yieldparam future [self] complete
      def on_complete(&block)
        needs(block, "on_complete")
        settled do |future|
          block.call(future)
        rescue Exception => error # rubocop:disable Lint/RescueException -- the next block is none of its business
          warn("guildhall: on_complete raised #{error.class}: #{Redaction.message(error)} (#{error.backtrace&.first})")
        end
        self
      end

      # Continues with the value. If the block returns a future, the continuation waits for it and takes its value.
      # @yieldparam value [Object] as `value` gives it; not called for an error
      # @return [Continuation] of what the block returns, or of the error that was raised before or in it
      def then(&block)
        needs(block, "then")
        gather([self]) { block.call(value) }
      end

      # Continues after an error; passes a value on.
      # @param classes [Array<Class>] of errors; none: StandardError
      # @return [Continuation] of the value, of what the block returns, or of the error that was not rescued
      def rescue(*classes, &block)
        needs(block, "rescue")
        stranger = classes.index { |one| !(Module === one) }
        raise Guildhall::ArgumentError, "rescue takes classes of errors, not #{classes[stranger].inspect}" if stranger

        classes = [StandardError] if classes.empty?
        gather([self]) do
          value
        rescue *classes => error
          block.call(error)
        end
      end

      # @return [Continuation] of all values, in this order, when all are there; of the first error in this order
      def zip(*others)
        all = [self, *futures(others)]
        gather(all) { all.map(&:value) }
      end

      # @return [Continuation] of the value that is there first; of the last error where none comes
      def any(*others)
        all = [self, *futures(others)]
        left = all.size
        Continuation.new(@pool).tap do |first|
          lock = Mutex.new
          all.each do |future|
            future.settled { |one| first.resolve { one.value } if lock.synchronize { left -= 1 }.zero? || one.success? }
          end
        end
      end

      # @api private
      def success?
        value
        true
      rescue Exception # rubocop:disable Lint/RescueException -- any error is an answer
        false
      end

      private

      def needs(block, method)
        raise Guildhall::ArgumentError, "#{method} needs a block" unless block
      end

      def futures(others)
        strangers = others.reject { |other| Chainable === other }
        return others if strangers.empty?

        raise Guildhall::ArgumentError, "zip and any take futures, not #{strangers.first.inspect}"
      end

      def gather(all, missing = all.size, &)
        lock = Mutex.new
        Continuation.new(@pool).tap do |gathered|
          all.each { |future| future.settled { gathered.resolve(&) if lock.synchronize { missing -= 1 }.zero? } }
        end
      end
    end

    # The result of `future.then { … }` and its like. Used in the main Ractor, by any of its threads and fibers.
    # @api private
    class Continuation
      include Chainable

      WAITS_FOR_ITSELF = "the block of this continuation reads or returns it: it would wait for itself"
      private_constant :WAITS_FOR_ITSELF

      # Made by the methods of {Chainable}.
      def initialize(pool)
        @pool = pool
        @lock = Mutex.new
        @done = ConditionVariable.new
        @ready = false
        @waiting = []
        @generation = Pool.fork_generation
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

          pause = [left, Future::PAUSES.longest].compact.min
          @pool.notifier.blocking { @lock.synchronize { @done.wait(@lock, pause) unless ready? } }
          @pool.supervise
        end
        true
      end

      def ready?
        @ready
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
        @generation != Pool.fork_generation
      end

      # @return [Boolean] false when it was settled before
      def settle(value, error)
        waiting = @lock.synchronize do
          next if ready?

          @value = value
          @error = error
          @ready = true
          @done.broadcast
          @waiting
        end
        waiting&.each { |callback| @pool.notifier.post { callback.call(self) } }
        !waiting.nil?
      end
    end
  end
end
