# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # Which messages of a partition are done: all before a position, and ranges behind it. However many messages they hold, what
      # is kept is their bounds. With the lock of {Progress} held.
      # @api private
      class DoneOffsets
        # @return [Integer, nil] the first offset that is not done; nil: nothing is known yet
        attr_reader :position
        # @return [Array<Range<Integer>>] what is done behind it, in order: no two of them touch
        attr_reader :beyond

        def initialize
          @position = nil
          @beyond = []
        end

        def initialize_copy(_other) = @beyond = @beyond.dup

        # Everything before an offset is done. As {#add}, tells whether that is news.
        def advance(next_offset)
          return false if @position && next_offset <= @position

          @position = next_offset
          @position = [@position, @beyond.shift.end].max while (range = @beyond.first) && range.begin <= @position
          true
        end

        # Messages are done, from an offset to before another, whatever lies before them. Joined with the ranges that they touch.
        def add(first, behind)
          return advance(behind) if @position && first <= @position

          from = @beyond.bsearch_index { |range| range.end >= first } || @beyond.size
          to = @beyond.bsearch_index { |range| range.begin > behind } || @beyond.size
          if from < to
            return false if @beyond[from].begin <= first && behind <= @beyond[from].end

            first = [first, @beyond[from].begin].min
            behind = [behind, @beyond[to - 1].end].max
          end
          @beyond[from, to - from] = [first...behind]
          true
        end

        def done?(offset)
          return true if @position && offset < @position

          range = @beyond.bsearch { |other| other.end > offset }
          !range.nil? && range.begin <= offset
        end

        # @return [Integer] how many offsets behind the position are done
        def size_beyond = @beyond.sum(&:size)

        # @return [Integer, nil] the offset behind everything that is done; nil: nothing is known yet
        def reach = @beyond.last&.end || @position

        def contiguous? = @beyond.empty?
      end
    end
  end
end
