# frozen_string_literal: true

require_relative "../growing_pauses"

module Guildhall
  class Pool
    # The results of a dispatched batch: one outcome a payload, in order: a value, {DROPPED} where a `select` left it out,
    # or a {Failure}. Used in the main Ractor, by any number of its threads and fibers.
    #
    # Payloads that no worker has, or will have, run in the first reader's thread, once. A reader that waits runs unclaimed payloads of its
    # own batch while no worker is free to, and sleeps otherwise; it gives up the GVL at least every 5 ms, between two payloads. What
    # interrupts a reader's thread acts at once, also while a payload runs: see docs/pool.md.
    class Future
      include Enumerable
      include Chainable

      # Means "no outcome yet"; nil is an outcome.
      NONE = Object.new.freeze
      private_constant :NONE
      # Seconds that a reader sleeps before it looks again whether help is needed, or the supervisor is.
      # @api private
      PAUSES = GrowingPauses.new(0.005, 0.1)

      # Made by {Pool#dispatch}.
      def initialize(pool, batch)
        @pool = pool
        @batch = batch
      end

      # All values in order, without what was dropped; waits for them, or runs what no other thread runs.
      # @param timeout [Numeric, nil] seconds; nil: no limit
      # @return [Array] frozen
      # @raise [TimeoutError]
      # @raise the first payload's failure, once all are done
      def value(timeout: nil)
        Pool.values(results(timeout:))
      end

      # As {#value}, with Failures in their places.
      # @param timeout [Numeric, nil] seconds; nil: no limit. A payload that runs in this thread is interrupted then, and runs again
      #   when it is read the next time
      # @return [Array] frozen
      # @raise [TimeoutError]
      def results(timeout: nil)
        Clock.within(Clock.deadline(timeout)) { wait }
        return @batch.outcomes if @batch.complete?

        raise TimeoutError, "#{@batch.done} of #{size} payloads are done after #{timeout} s; the others continue"
      end

      # Calls the block with each outcome, in order, as soon as it is there.
      def each
        return enum_for(:each) { size } unless block_given?

        index = 0
        while index < size
          yield self[index]
          index += 1
        end
        self
      end

      # Calls the block with each outcome as soon as it is there, in whatever order.
      def each_ready
        return enum_for(:each_ready) { size } unless block_given?

        left = (0...size).to_a
        until left.empty?
          done = @batch.done
          ready, left = left.partition { |index| ready?(index) }
          ready.each { |index| yield @batch.at(index, nil), index }
          move_beyond(done, nil) if ready.empty?
        end
        self
      end

      # The payload's outcome; waits for this one only.
      # @param index [Integer] negative: from the end
      # @return [Object, Failure, nil] nil where there is no such payload
      def [](index)
        outcome = @batch.at(index, NONE)
        return outcome unless NONE.equal?(outcome)

        index += size if index.negative?
        return unless index.between?(0, size - 1)

        wait_for(index, 0, nil)
        @batch.at(index, nil)
      end

      # @param index [Integer, nil] nil: all of them
      # @return [Boolean] whether reading it takes no time; never runs anything
      def ready?(index = nil)
        index ? !NONE.equal?(@batch.at(index, NONE)) : @batch.complete?
      end

      # Waits for all outcomes, or runs what no other thread runs. A payload that runs in this thread is not interrupted, but ends
      # first: who asks again and again would only begin it again and again. {#value} and {#results} do interrupt it.
      # @param timeout [Numeric, nil] seconds; nil: no limit
      # @return [Boolean] false when the time was up
      def wait(timeout: nil)
        limit = Clock.deadline(timeout)
        return true if @batch.complete? || (decision.reason == :small && @pool.with_logger { @batch.reset_after_fork.help(nil) })

        wait_for(nil, size - 1, limit)
      end

      # @return [Array<Failure>] in order; waits for all outcomes
      # @raise [TimeoutError]
      def failures(timeout: nil)
        outcomes = results(timeout:)
        @batch.failed.zero? ? [] : outcomes.grep(Failure)
      end

      # Gives every payload that has not begun a Failure (CancelledError). Does not wait.
      # @return [Integer] how many these were
      def cancel
        @batch.cancel { |index| Failure.of(CancelledError.new("cancelled before it was begun"), index) }
      end

      # As {Chainable#zip}, with futures; as Enumerable#zip, with anything else.
      def zip(*others)
        others.all?(Chainable) ? super : Enumerable.instance_method(:zip).bind_call(self, *others)
      end

      # @return [Integer] payloads whose outcome is there
      def done
        @batch.done
      end

      def size
        @batch.size
      end

      # @return [Decision] where it is run, and why; `inline` may become `parallel: overdue` while it is read
      def decision
        Decision.of(@batch)
      end

      # @return [Boolean] whether the workers have it; if not, the reader of a payload runs it
      def parallel?
        @batch.parallel?
      end

      def deferred?
        !parallel?
      end

      def inspect
        failed = ", #{@batch.failed} failed" if @batch.failed.positive?
        "#<Guildhall::Pool::Future #{@batch.done}/#{size}#{failed}; #{decision}>"
      end

      # @api private
      def settled(&callback)
        @pool.notifier.add(self, callback)
      end

      # @api private
      def watch
        @batch.reset_after_fork
        @batch.watch
      end

      # @api private
      def reach(index, timeout)
        ready?(index) || wait_for(index, 0, Clock.deadline(timeout))
      end

      # @api private
      def move_beyond(done, timeout)
        wait_for(nil, done, Clock.deadline(timeout))
      end

      private

      # @param index [Integer, nil] of the payload whose outcome is waited for; nil: there are to be more outcomes than `beyond`
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

      def help(index, stalled)
        return false unless @batch.help?(index, stalled)

        @pool.with_logger { @batch.help(index) }
        @pool.parallelize(@batch) if @batch.spreads?
        true
      end
    end
  end
end
