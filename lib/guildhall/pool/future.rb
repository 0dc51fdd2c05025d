# frozen_string_literal: true

module Guildhall
  class Pool
    # What a dispatched batch comes to: one outcome a payload, in order: a value, {DROPPED} where a `select` left it out,
    # or a {Failure}. Used in the main Ractor, by any number of its threads and fibers.
    #
    # Payloads that no worker has, or will have, are run by whoever reads them first, once. While a payload runs in its
    # reader's thread, Thread#raise and Thread#kill wait for its end; signals and Timeout do not.
    class Future
      include Enumerable

      # Stands for "no outcome yet", which nil is not.
      NONE = Object.new.freeze
      private_constant :NONE

      # @return [Batch]
      attr_reader :batch

      # Made by {Pool#dispatch}.
      def initialize(pool, batch)
        @pool = pool
        @batch = batch
      end

      # All values in order; waits for them, or runs what nobody else runs.
      # @param timeout [Numeric, nil] seconds; nil: no limit
      # @return [Array] frozen
      # @raise [TimeoutError]
      # @raise the first payload's failure, once all are done
      def value(timeout: nil)
        outcomes = results(timeout:)
        outcomes.find { |outcome| outcome.is_a?(Failure) }&.raise! if @batch.failed.positive?
        outcomes
      end

      # As {#value}, with Failures in their places.
      # @param timeout [Numeric, nil] seconds; nil: no limit
      # @return [Array] frozen
      # @raise [TimeoutError]
      def results(timeout: nil)
        return @batch.outcomes if wait(timeout:)

        raise TimeoutError, "#{@batch.done} of #{size} payloads are done after #{timeout} s; the others go on"
      end

      # Calls the block with each outcome, in order, as soon as it is there.
      # @yieldparam outcome [Object, Failure]
      # @return [self, Enumerator]
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
      # @yieldparam outcome [Object, Failure]
      # @yieldparam index [Integer]
      # @return [self, Enumerator]
      def each_ready
        return enum_for(:each_ready) { size } unless block_given?

        @batch.adopt
        left = (0...size).to_a
        until left.empty?
          done = @batch.done
          ready, left = left.partition { |index| ready?(index) }
          ready.each { |index| yield @batch.at(index, nil), index }
          reader.wait_beyond(done) if ready.empty?
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

        @batch.adopt
        reader.wait(index)
        @batch.at(index, nil)
      end

      # @param index [Integer, nil] nil: all of them
      # @return [Boolean] whether reading it takes no time; never runs anything
      def ready?(index = nil)
        index ? !NONE.equal?(@batch.at(index, NONE)) : @batch.complete?
      end

      # Waits for all outcomes, or runs what nobody else runs.
      # @param timeout [Numeric, nil] seconds; nil: no limit
      # @return [Boolean] false when the time was up
      def wait(timeout: nil)
        return true if @batch.complete?
        return true if @batch.brief? && !@pool.settings.logger && Reader.interruptibly(@batch.native?) { @batch.help }

        @batch.adopt
        complete = reader.wait(nil, timeout)
        @batch.learn if complete
        complete
      end

      # @return [Array<Failure>] in order; waits for all outcomes
      # @raise [TimeoutError]
      def failures(timeout: nil)
        outcomes = results(timeout:)
        @batch.failed.zero? ? [] : outcomes.grep(Failure)
      end

      # Gives every payload that nobody has begun a Failure (CancelledError). Does not wait.
      # @return [Integer] how many these were
      def cancel
        cancelled = (0...size).count do |index|
          @batch.available?(index) && @batch.fail_at(index, Failure.of(CancelledError.new("cancelled before it was begun"), index))
        end
        @batch.notify
        cancelled
      end

      # Calls the block when all outcomes are there, in a thread of the pool's own; what it raises is reported with `warn`.
      # A deferred batch is run for it.
      # @yieldparam future [Future] complete
      # @return [self]
      def on_complete(&block)
        @pool.notifier.add(self, block)
        self
      end

      # As {#on_complete}, with the values, and their successor to wait for.
      # @yieldparam values [Array] as {#value} gives them
      # @return [Continuation] of what the block returns, or of what the batch or the block raised
      def then(&block)
        Continuation.new(@pool).tap { |continuation| on_complete { |future| continuation.fulfil { block.call(future.value) } } }
      end

      # @return [Integer] payloads
      def size
        @batch.size
      end

      # @return [Boolean] whether the workers have it; if not, whoever reads a payload runs it
      def parallel?
        @batch.parallel?
      end

      # @return [Boolean]
      def deferred?
        !parallel?
      end

      # @return [String]
      def inspect
        failed = ", #{@batch.failed} failed" if @batch.failed.positive?
        "#<Guildhall::Pool::Future #{@batch.done}/#{size}#{failed}#{" deferred" if deferred?}>"
      end

      private

      def reader
        Reader.new(@pool, @batch)
      end
    end
  end
end
