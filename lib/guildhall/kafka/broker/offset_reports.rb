# frozen_string_literal: true

require "guildhall/error_boundary"
require_relative "session"

module Guildhall
  module Kafka
    module Broker
      # Publishes where a member begins to read partitions, where that is not simply the committed offset, and where messages were deleted
      # before it has read them: `auto.offset.reset` decides then, and messages may be skipped or repeated.
      class OffsetReports
        ANSWER_SECONDS = 2
        STOP_SECONDS = 1 # for a question on its way
        private_constant :ANSWER_SECONDS, :STOP_SECONDS

        def initialize(runtime, group)
          @runtime = runtime
          @group = group
          @threads = []
        end

        # The brokers are asked in a thread of its own: a rebalance does not wait for them. Does not block. As {#start_events}.
        def assigned(client, settings, pairs, seeking = [], &moved)
          return if pairs.empty?

          thread = Thread.new do
            guarded { start_events(client, settings, pairs, seeking, &moved).each { |name, payload| publish(name, **payload) } }
          end
          thread.name = "guildhall offsets"
          thread.report_on_exception = false
          @threads = [*@threads.select(&:alive?), thread]
        end

        # Blocks for the brokers' answers. What cannot be asked is left out.
        # @param client [Group::Client] the member's, with its settings
        # @param pairs [Array<Array(String, Integer)>] topics and partitions that it was assigned
        # @param seeking [Array<String>] topics whose consumers may seek before they consume anything
        # @yieldreturn [Boolean] whether the consumer of a topic and partition has moved it meanwhile: it is left out; called once the
        #   brokers have answered
        # @return [Array<Array(String, Hash{Symbol=>Object})>] names and payloads of events, one for each topic
        def start_events(client, settings, pairs, seeking = [])
          reset_place = Group::Client.reset_place(settings) or return [] # librdkafka reports an error
          session = Session.new(settings, client:, timeout: ANSWER_SECONDS)
          committed = known(session.committed(pairs))
          ranges = known(session.ranges(topics(session, pairs)))
          places = committed.select { |place, _| ranges.key?(place) && !(block_given? && yield(place)) }
          [*without_offsets(places, ranges, reset_place, seeking), *reset(places, ranges, reset_place)]
        rescue KafkaError
          [] # the listener reports what keeps it from reading
        end

        # librdkafka reads on elsewhere where the member was so slow that its next message has been deleted. Other gaps between messages are
        # none of that: marks of transactions, what compaction has removed. Does not block.
        # @param record [Record] the first one of those that were read just now
        def read(client, partition, record)
          expected = partition.read_to
          return unless expected && record.offset > expected

          first = client.begin_offset(partition.name, partition.number)
          return unless first && first > expected

          publish("offsets.reset", topic: partition.name, partitions: {partition.number => [expected, record.offset]})
        end

        # Ends the questions, without waiting long for answers.
        def stop = @threads.each(&:kill).each { |thread| thread.join(STOP_SECONDS) }

        # Whether the thread is one of those that ask.
        def include?(thread) = @threads.include?(thread)

        private

        # The client may be closed meanwhile.
        def guarded(&)
          ErrorBoundary.run(->(error) { @runtime.error(error, "offsets", group: @group) unless error.is_a?(Rdkafka::BaseError) }, &)
        end

        def publish(name, **) = @runtime.publish(name, group: @group, **)

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
          gone = places.filter_map do |place, (offset, _)|
            present = ranges.fetch(place)
            next if offset.nil? || offset.between?(present.begin, present.end)

            [place, [offset, reset_place == :earliest ? present.begin : present.end]]
          end.to_h
          by_topic(gone.keys).map do |topic, numbers|
            ["offsets.reset", {topic:, partitions: numbers.to_h { |number| [number, gone.fetch([topic, number])] }}]
          end
        end

        def by_topic(places) = places.group_by(&:first).transform_values { |same| same.map(&:last).sort }
      end
    end
  end
end
