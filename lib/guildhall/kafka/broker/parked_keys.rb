# frozen_string_literal: true

require_relative "../partition/done_ranges"
require_relative "group_query"

module Guildhall
  module Kafka
    module Broker
      # The keys that one consumer group has parked. The done ranges beside its committed offsets say which messages it has passed over.
      class ParkedKeys < GroupQuery
        # One key of a partition. key: of the messages, nil where they have none; offset: of the first of its messages that were passed
        # over; messages: how many those are; seconds: the age of the first, nil: it has no timestamp.
        Row = Data.define(:group, :topic, :partition, :key, :offset, :messages, :seconds)

        # Offsets between two gaps, up to which one search reads both: starting another one costs more than reading on.
        MAX_DISTANCE = 10_000
        private_constant :MAX_DISTANCE

        # Reads the messages of some ranges of a partition. Blocks for the brokers.
        # @param gaps [Array<Range<Integer>>] in order
        # @return [Array<Row>] one for each key
        def passed_over(session, place, gaps)
          gaps.slice_when { |gap, after| after.begin - gap.end > MAX_DISTANCE }
            .flat_map { |near| skipped(session, place, near) }
            .group_by { |record| record.key || record.offset }.values.map { |same| row(place, same) }
        end

        private

        def rows(session, _topics, committed)
          committed.flat_map do |place, (offset, metadata)|
            offset ? passed_over(session, place, Partition::DoneRanges.gaps(offset, Partition::DoneRanges.load(offset, metadata))) : []
          rescue AuthenticationError
            raise
          rescue KafkaError => error
            report(*place, error)
            []
          end
        end

        def skipped(session, place, gaps)
          found = []
          session.each_record(*place, gaps.first.begin...gaps.last.end) do |record|
            found << record if gaps.bsearch { |gap| record.offset < gap.end }&.cover?(record.offset)
          end
          found
        end

        def row((topic, partition), records)
          first = records.first
          Row.new(group: @group, topic:, partition:, key: first.key, offset: first.offset, messages: records.size,
            seconds: first.timestamp && [Time.now - first.timestamp, 0.0].max)
        end
      end
    end
  end
end
