# frozen_string_literal: true

require_relative "../partition/done_ranges"
require_relative "group_query"

module Guildhall
  module Kafka
    module Broker
      # What one consumer group has committed, and which offsets its partitions have.
      class GroupOffsets < GroupQuery
        # One partition. committed: nil where nothing was committed; begin_offset, end_offset: the first offset that is there, and the one
        # that the next message will get; messages: how many offsets lie between the committed one and the end (all where nothing was
        # committed); metadata: the group's own text beside the committed offset, nil: none; done: what Guildhall's members have noted
        # beside it, the offsets behind the committed one that are done already.
        Row = Data.define(:group, :topic, :partition, :committed, :begin_offset, :end_offset, :messages, :metadata, :done) do
          # @return [Array(String, Integer)]
          def place = [topic, partition]

          # @return [Array<Range<Integer>>] the offsets between the committed one and the last that is done: of parked keys, or of
          #   messages that were in work when the group's last member ended
          def passed_over = committed ? Partition::DoneRanges.gaps(committed, done) : []

          # (see Lag::Row#beyond_end?)
          def beyond_end? = !committed.nil? && committed > end_offset

          # @return [Integer] where the group goes on; where nothing was committed, as if from the beginning
          def position = (committed || begin_offset).clamp(begin_offset, end_offset)
        end

        private

        def rows(session, topics, committed)
          ranges = committed.empty? ? {} : known(session.ranges(topics))
          committed.filter_map { |place, found| row(place, *found, ranges[place]) if ranges[place] }.sort_by(&:place)
        end

        def row((topic, partition), committed, metadata, present)
          done = committed ? Partition::DoneRanges.load(committed, metadata) : []
          row = Row.new(group: @group, topic:, partition:, committed:, begin_offset: present.begin, end_offset: present.end, messages: 0,
            metadata: Partition::DoneRanges.text(metadata), done: done.freeze)
          row.with(messages: present.end - row.position)
        end
      end
    end
  end
end
