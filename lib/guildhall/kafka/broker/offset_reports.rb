# frozen_string_literal: true

require_relative "session"

module Guildhall
  module Kafka
    module Broker
      # Says where a member begins to read partitions, where that is not simply the committed offset, and where messages were deleted
      # before it has read them: `auto.offset.reset` decides then, and messages may be skipped or repeated.
      # @api private
      module OffsetReports
        ANSWER_SECONDS = 2
        private_constant :ANSWER_SECONDS

        class << self
          # Blocks for the brokers' answers. What cannot be asked is left out.
          # @param client [Group::Client] the member's, with its settings; it may be closed meanwhile
          # @param pairs [Array<Array(String, Integer)>] topics and partitions that it was assigned
          # @param seeking [Array<String>] topics whose consumers may seek before they consume anything
          # @yieldreturn [Boolean] whether the consumer of a topic and partition has moved it meanwhile: it is left out; called once the
          #   brokers have answered
          # @return [Array<Array(String, Hash{Symbol=>Object})>] names and payloads of events, one for each topic
          def at_start(client, settings, pairs, seeking = [])
            reset_place = Group::Client.reset_place(settings) or return [] # librdkafka reports an error
            session = Session.new(settings, client:, timeout: ANSWER_SECONDS)
            committed = known(session.committed(pairs, settled: true)) # the member waits as well before it reads
            ranges = known(session.ranges(topics(session, pairs)))
            places = committed.select { |place, _| ranges.key?(place) && !(block_given? && yield(place)) }
            [*without_offsets(places, ranges, reset_place, seeking), *reset(places, ranges, reset_place)]
          rescue KafkaError, Rdkafka::BaseError
            [] # the listener reports what keeps it from reading
          end

          # librdkafka reads on elsewhere where the member was so slow that its next message has been deleted. Other gaps between messages
          # are none of that: marks of transactions, what compaction has removed. Does not block.
          # @param record [Record] the first one of those that were read just now
          # @return [Hash{Symbol=>Object}, nil] payload of an event
          def gap(client, partition, record)
            expected = partition.read_to
            return unless expected && record.offset > expected

            first = client.begin_offset(partition.name, partition.number)
            {topic: partition.name, partitions: {partition.number => [expected, record.offset]}} if first && first > expected
          end

          private

          def topics(session, pairs)
            wanted = by_topic(pairs)
            session.describe(wanted.keys).map { |topic| topic.with(leaders: topic.leaders.slice(*wanted.fetch(topic.name))) }
          end

          def known(answers) = answers.reject { |_, answer| answer.is_a?(KafkaError) }

          def without_offsets(places, ranges, place, seeking)
            by_topic(places.select { |_, (offset, _)| offset.nil? }.keys).map do |topic, numbers|
              messages = numbers.sum { |number| ranges.fetch([topic, number]).size }
              ["offsets.none", {topic:, partitions: numbers, place:, messages:, may_seek: seeking.include?(topic)}]
            end
          end

          def reset(places, ranges, reset_place)
            gone = places.select { |place, (offset, _)| offset && !offset.between?(ranges[place].begin, ranges[place].end) }
            by_topic(gone.keys).map do |topic, numbers|
              moved = numbers.to_h do |number|
                present = ranges.fetch([topic, number])
                [number, [gone.fetch([topic, number]).first, reset_place == :earliest ? present.begin : present.end]]
              end
              ["offsets.reset", {topic:, partitions: moved}]
            end
          end

          def by_topic(places) = places.group_by(&:first).transform_values { |same| same.map(&:last).sort }
        end
      end
    end
  end
end
