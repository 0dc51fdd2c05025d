# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # Which messages of a partition are done: all before a position, and ranges behind it. However many messages they hold, what
      # is kept is their bounds. With the lock of {Progress} held.
      class DoneOffsets
        # @return [Integer, nil] the first offset that is not done; nil: nothing is known yet
        attr_reader :position

        def initialize
          @position = nil
          @firsts = [] # of the ranges behind the position, in order: no two of them touch
          @ends = []
        end

        # @return [DoneOffsets] as far as this one, from where it goes its own way
        def initialize_copy(other)
          super
          @firsts = @firsts.dup
          @ends = @ends.dup
        end

        # Everything before an offset is done.
        # @return [Boolean] whether that is news
        def advance(next_offset)
          return false if @position && next_offset <= @position

          @position = next_offset
          hop
          true
        end

        # Messages are done, whatever lies before them.
        # @param first [Integer] the offset of the first of them
        # @param next_offset [Integer] the offset of the message after them
        # @return [Boolean] whether that is news
        def add(first, next_offset)
          return false if covered?(first, next_offset)

          insert(first, next_offset)
          hop
          true
        end

        def done?(offset) = covered?(offset, offset + 1)

        # @return [Array<Array(Integer, Integer)>] what is done behind the position: the first offset of each range, and the one after it
        def beyond = @firsts.zip(@ends)

        # @return [Integer] how many offsets behind the position are done
        def size_beyond = @ends.sum - @firsts.sum

        # @return [Integer, nil] the offset behind everything that is done; nil: nothing is known yet
        def reach = @ends.last || @position

        # @return [Boolean] whether everything that is done lies before the position
        def contiguous? = @firsts.empty?

        private

        def covered?(first, behind)
          return true if @position && behind <= @position

          index = @ends.bsearch_index { |other| other >= behind }
          !index.nil? && @firsts[index] <= first
        end

        # Joined with those that it touches.
        def insert(first, behind)
          from = @ends.bsearch_index { |other| other >= first } || @ends.size
          to = @firsts.bsearch_index { |other| other > behind } || @firsts.size
          if from < to
            first = [first, @firsts[from]].min
            behind = [behind, @ends[to - 1]].max
          end
          @firsts[from, to - from] = [first]
          @ends[from, to - from] = [behind]
        end

        def hop
          return unless @position

          while @firsts.any? && @firsts.first <= @position
            @firsts.shift
            @position = [@position, @ends.shift].max
          end
        end
      end
    end
  end
end
