# frozen_string_literal: true

module Guildhall
  module Kafka
    module Processing
      # Finds the message that fails in a batch whose retries are spent. A consumer that raised before it had looked at all of them
      # most likely failed on the one that it looked at last: those before it are consumed, then that one alone. If those fail,
      # or the consumer had looked at all, what is left is halved, and each half is consumed in order, until a single message
      # fails: of 500 messages that takes 9 calls. Used by one runner at a time.
      class Isolation
        def initialize
          forget
        end

        # Some messages have failed together: one of them is the cause.
        # @param last_offset [Integer] of the last of them
        # @param last_read [Integer, nil] of the last one that the consumer has looked at; nil: it is not known
        # @return [void]
        def failed(last_offset, last_read = nil)
          @guess = !@guessed && !last_read.nil? && last_read < last_offset
          @guessed ||= @guess # once: a wrong guess says that the consumer looks ahead
          @suspects_end = (last_read || last_offset) + 1
        end

        # Everything before an offset is done. Where none of the suspects is left, nothing is known of what lies behind.
        # @param next_offset [Integer]
        # @return [void]
        def passed(next_offset)
          forget if @suspects_end && next_offset >= @suspects_end
        end

        # @param offsets [Array<Integer>] of the messages that are left, in order
        # @return [Integer] how many of them to consume next
        def take(offsets)
          return offsets.size unless @suspects_end

          suspects = offsets.bsearch_index { |offset| offset >= @suspects_end } || offsets.size
          [@guess ? suspects - 1 : suspects / 2, 1].max
        end

        private

        def forget
          @suspects_end = nil
          @guess = @guessed = false
        end
      end
    end
  end
end
