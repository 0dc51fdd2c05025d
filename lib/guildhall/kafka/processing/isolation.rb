# frozen_string_literal: true

module Guildhall
  module Kafka
    module Processing
      # Finds the message that fails in a batch whose retries are spent: what is left is halved, and each half is consumed in
      # order, until a single message fails. Of 500 messages that takes 9 calls. Used by one runner at a time.
      class Isolation
        def initialize
          @suspects_end = nil
        end

        # Some messages have failed together: one of them is the cause.
        # @param last_offset [Integer] of the last of them
        # @return [void]
        def failed(last_offset)
          @suspects_end = last_offset + 1
        end

        # Everything before an offset is done. Where none of the suspects is left, nothing is known of what lies behind.
        # @param next_offset [Integer]
        # @return [void]
        def passed(next_offset)
          @suspects_end = nil if @suspects_end && next_offset >= @suspects_end
        end

        # @param offsets [Array<Integer>] of the messages that are left, in order
        # @return [Integer] how many of them to consume next
        def take(offsets)
          return offsets.size unless @suspects_end

          suspects = offsets.bsearch_index { |offset| offset >= @suspects_end } || offsets.size
          [suspects / 2, 1].max
        end
      end
    end
  end
end
