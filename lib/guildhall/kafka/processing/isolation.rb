# frozen_string_literal: true

module Guildhall
  module Kafka
    module Processing
      # Finds the message that fails in a batch whose retries are spent. If one is suspected (the message that the consumer had at hand
      # when it raised, or the one that it looked at last), those before it are consumed, and then that one alone. If that was
      # wrong, or none is suspected, what is left is halved, and each half is consumed in order, until a single message fails: of 500
      # messages that takes 9 calls. Used by one runner at a time.
      class Isolation
        def initialize
          forget
        end

        # Some messages have failed together: one of them is the cause.
        # @param last_offset [Integer] of the last of them
        # @param suspected [Boolean] whether the last of them is suspected
        # @return [void]
        def failed(last_offset, suspected: false)
          @suspected = suspected && !@wrong
          @wrong ||= suspected # unless it proves right: then all is forgotten. A consumer that looks ahead misleads each time
          @suspects_end = last_offset + 1
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
          [@suspected ? suspects - 1 : suspects / 2, 1].max
        end

        private

        def forget
          @suspects_end = nil
          @suspected = @wrong = false
        end
      end
    end
  end
end
