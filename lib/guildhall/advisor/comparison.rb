# frozen_string_literal: true

module Guildhall
  class Advisor
    # The task as it is given, in a loop, beside a variant of it on a pool: in turn, so that whatever the machine does meets both.
    class Comparison
      WARM_UP = 0.03 # seconds, so that the pool has started
      private_constant :WARM_UP

      # @param pool [Pool, nil] nil: in a loop as well
      def initialize(given, variant, pool, batches)
        @given = given
        @two = Callable.takes_metadata?(given) # and so does a variant of it
        @variant = variant
        @pool = pool
        @batches = batches
      end

      # @return [Array<Float>] how many times faster the variant was, in each round
      def gains(rounds)
        warm_up
        Array.new(rounds) do |round|
          round.even? ? seconds { loop_over(@given) } / seconds { vary } : 1 / (seconds { vary } / seconds { loop_over(@given) })
        end
      end

      private

      def warm_up
        limit = Clock.now + WARM_UP
        vary
        vary while Clock.now < limit
      end

      # No result is kept: a consumer that is done with a batch has its garbage to pay for.
      def loop_over(task)
        @batches.each { |batch| batch.map { |payload| @two ? task.call(payload, nil) : task.call(payload) } }
      end

      def vary
        return loop_over(@variant) unless @pool

        @batches.each { |batch| @pool.results(batch, @variant, parallel: true) }
      end

      def seconds
        began = Clock.now
        yield
        Clock.now - began
      end
    end
  end
end
