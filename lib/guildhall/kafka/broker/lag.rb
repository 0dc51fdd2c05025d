# frozen_string_literal: true

require_relative "group_query"

module Guildhall
  module Kafka
    module Broker
      # How far one consumer group is behind, by what it has committed.
      class Lag < GroupQuery
        # One partition. committed: nil where nothing was committed yet, then all messages count; messages: what lies between the
        # committed offset and the end, in which marks of transactions count like messages, but 0 where there is no message
        # among them; seconds: the age of the first message that is not committed, 0.0 where there is none, nil where it could
        # not be read in time.
        Row = Data.define(:group, :topic, :partition, :committed, :end_offset, :messages, :seconds) do
          # @return [Boolean] whether the committed offset is none that the partition has: it was recreated, or somebody has committed, or
          #   has sought, too far
          def beyond_end? = !committed.nil? && committed > end_offset
        end

        # The first message of each partition is read and nothing more, or its end where there is none.
        SETTINGS = {"queued.min.messages": 1, "fetch.message.max.bytes": 1_000}.freeze
        private_constant :SETTINGS

        def initialize(settings, routes = nil, timeout: 5)
          super(settings.merge(SETTINGS), routes)
          @timeout = timeout
        end

        private

        def rows(session, topics, committed)
          ranges = committed.empty? ? {} : known(session.ranges(topics))
          rows = committed.filter_map { |place, (offset, _)| row(place, offset, ranges[place]) if ranges[place] }
          behind = rows.select { |row| row.messages.positive? }.to_h do |row|
            [[row.topic, row.partition], (row.end_offset - row.messages)...row.end_offset]
          end
          firsts = behind.empty? ? {} : session.first_records(behind, seconds: @timeout)
          rows.map { |row| with_seconds(row, firsts) }
        end

        def row((topic, partition), committed, present)
          messages = [present.end - [committed || present.begin, present.begin].max, 0].max
          Row.new(group: @group, topic:, partition:, committed:, end_offset: present.end, messages:, seconds: nil)
        end

        # There may be nothing but marks of transactions.
        def with_seconds(row, firsts)
          return row.with(seconds: 0.0) if row.messages.zero?
          return row unless firsts.key?(place = [row.topic, row.partition])

          first = firsts[place] or return row.with(messages: 0, seconds: 0.0)
          first.timestamp ? row.with(seconds: [Time.now - first.timestamp, 0.0].max) : row
        end
      end
    end
  end
end
