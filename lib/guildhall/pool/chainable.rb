# frozen_string_literal: true

module Guildhall
  class Pool
    # What futures and their continuations have in common: blocks that run when the outcome is there, and what comes of them.
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

      # What comes after the value. A future that the block returns is waited for: its value is the continuation's.
      # @yieldparam value [Object] as `value` gives it; not called for an error
      # @return [Continuation] of what the block returns, or of the error that was raised before or in it
      def then(&block)
        needs(block, "then")
        gather([self]) { block.call(value) }
      end

      # What comes after an error; a value is passed on.
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
      # @return [Boolean] whether there is a value; asked when the outcome is there
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
  end
end
