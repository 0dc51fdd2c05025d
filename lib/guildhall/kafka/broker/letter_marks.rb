# frozen_string_literal: true

require_relative "../errors"
require_relative "../partition/done_offsets"
require_relative "../partition/done_ranges"
require_relative "offset_range"

module Guildhall
  module Kafka
    module Broker
      # Which dead letters of one partition were replayed, and which discarded. Kept by the broker as the offset that the group
      # `GROUP_ID.replay`, which has no members, has committed, and in its metadata: before the offset all are marked, behind it the done
      # ranges are ({Partition::DoneRanges}); which of these were discarded, is written in the same way beside them:
      #
      #     gd1:FLOOR;gap.length,gap.length…␟gh1:gap.length…     in base 36; below FLOOR it is forgotten who was discarded
      class LetterMarks
        # What {#of} says of those that are marked.
        MARKS = %i[replayed discarded settled].freeze
        VERSION = 1
        DISCARDED = "gd#{VERSION}:".freeze
        KEPT = 100 # ranges that stay apart where that is advised
        private_constant :VERSION, :DISCARDED, :KEPT

        # @param committed [Integer, nil] offset, with its metadata; nil: nothing is marked, or the broker has forgotten
        # @param first [Integer] the first offset that is there: what lies before it is gone
        # @raise [NewerFormatError] of marks that this release would lose with its next change
        def initialize(committed, metadata, first)
          text = Partition::DoneRanges.text(metadata)
          NewerFormatError.check!("the marks of dead letters", Partition::DoneRanges.version(metadata), Partition::DoneRanges::VERSION)
          NewerFormatError.check!("the marks of discarded dead letters", text.to_s.scrub[/\Agd(\d+):/, 1]&.to_i, VERSION)
          @known = !committed.nil?
          @marked = Partition::DoneOffsets.new
          @marked.advance([committed, first].compact.max)
          Partition::DoneRanges.load(committed, metadata).each { |range| @marked.add(range.begin, range.end) } if committed
          @floor, @discarded = parse(text, first)
        end

        # Each dead letter with the offsets that it is marked by: its own and those before it that no letter has (marks of transactions,
        # say), so that ranges of letters that follow each other are one.
        # @param letters [Enumerable<DeadLetterQueue::DeadLetter>] in order, all from an offset on
        def self.spans(letters, from)
          letters.map { |letter| [letter, from...(from = letter.offset + 1)] }
        end

        # Whether the broker knows of any.
        def known? = @known

        # @return [Symbol, nil] :replayed, :discarded, or :settled where it is not known which of these; nil: neither
        def of(offset)
          return :discarded if @discarded.any? { |range| range.cover?(offset) }

          (offset < @floor ? :settled : :replayed) if @marked.done?(offset)
        end

        # @param range [Range<Integer>] of offsets, without its end
        def replayed(range)
          @marked.add(range.begin, range.end)
          @discarded = @discarded.flat_map { |other| OffsetRange.without(other, [range].select { |one| overlap?(one, other) }) }
        end

        def discarded(range)
          @marked.add(range.begin, range.end)
          joined = Partition::DoneOffsets.new
          [*@discarded, range].each { |one| joined.add(one.begin, one.end) }
          @discarded = joined.beyond
        end

        # What was replayed from an offset on counts as not replayed.
        def reopen(offset)
          before = @marked
          @marked = Partition::DoneOffsets.new
          @marked.advance([before.position, offset].min)
          kept = before.beyond.filter_map { |range| range.begin...[range.end, offset].min if range.begin < offset }
          [*kept, *@discarded].each { |range| @marked.add(range.begin, range.end) }
        end

        # @return [Integer] the first offset that is not marked
        def position = @marked.position

        # @return [Array(Integer, String | nil)] offset and metadata to be committed
        # @raise [ReplayError] where they do not fit there
        def dump
          @discarded.shift.then { |range| @floor = range.end } until fit? || @discarded.empty? || @discarded.first.end > position
          raise ReplayError, too_many unless fit?

          [position, Partition::DoneRanges.dump(position, @marked.beyond, text)]
        end

        private

        def fit? = Partition::DoneRanges.fit?(position, @marked.beyond, text) && Partition::DoneRanges.fit?(@floor, @discarded)

        def text
          return if @discarded.empty? && @floor.zero?

          ranges = Partition::DoneRanges.dump(@floor, @discarded).to_s.delete_prefix(Partition::DoneRanges::MARK)
          "#{DISCARDED}#{@floor.to_s(36)};#{ranges}"
        end

        def parse(text, first)
          return [0, []] unless text&.start_with?(DISCARDED)

          floor, ranges = text.delete_prefix(DISCARDED).split(";", 2)
          floor = Integer(floor, 36)
          all = Partition::DoneRanges.load(floor, "#{Partition::DoneRanges::MARK}#{ranges}")
          [floor, all.select { |range| range.end > first }]
        rescue ::ArgumentError # of another tool's
          [0, []]
        end

        def overlap?(one, other) = one.begin < other.end && other.begin < one.end

        def too_many
          "no more single dead letters can be marked here, too many lie apart from each other: settle all up to an offset, with " \
            "guildhall dlq discard --partition N --offsets ..#{@marked.beyond.last(KEPT).first.begin}"
        end
      end
    end
  end
end
