# frozen_string_literal: true

module Guildhall
  module Kafka
    module Processing
      # Which messages of a partition are done: all before a position, and single ones behind it. Each step is as cheap as
      # the messages that it adds. With the lock of {OffsetTracker} held.
      class Progress
        # @return [Integer, nil] the first offset that is not done; nil: nothing is known yet
        attr_reader :position

        def initialize
          @position = nil
          @beyond = {} # offset => where the next message lies
        end

        # @return [Progress] as far as this one, from where it goes its own way
        def initialize_copy(other)
          super
          @beyond = @beyond.dup
        end

        # Everything before an offset is done.
        # @param next_offset [Integer]
        # @return [Boolean] whether that is news
        def advance(next_offset)
          return false if @position && next_offset <= @position

          @position = next_offset
          hop
          true
        end

        # One message is done, whatever lies before it.
        # @param offset [Integer]
        # @param next_offset [Integer] the offset of the message after it
        # @return [Boolean] whether that is news
        def add(offset, next_offset)
          return false if done?(offset)

          @beyond[offset] = next_offset
          hop
          true
        end

        # @param offset [Integer]
        # @return [Boolean]
        def done?(offset)
          (!@position.nil? && offset < @position) || @beyond.key?(offset)
        end

        # @return [Array<Integer>] offsets that are done behind the position
        def beyond
          @beyond.delete_if { |offset, _| offset < @position } if @position
          @beyond.keys
        end

        # @return [Boolean] whether everything that is done lies before the position
        def contiguous?
          @beyond.empty?
        end

        private

        def hop
          while (next_offset = @beyond.delete(@position))
            @position = next_offset
          end
        end
      end
    end
  end
end
