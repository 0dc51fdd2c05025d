# frozen_string_literal: true

require_relative "session"

module Guildhall
  module Kafka
    module Broker
      # Where a member of a group begins to read partitions that it was assigned, where that is not simply the committed offset: nothing
      # was committed, or what was committed is not there any more. Then `auto.offset.reset` decides, and messages may be skipped or
      # repeated.
      class StartReport
        TIMEOUT_SECONDS = 2
        private_constant :TIMEOUT_SECONDS

        # @param client [Connection::Client] the member's
        # @param settings [Hash{Symbol=>Object}] its
        # @param pairs [Array<Array(String, Integer)>] topics and partitions
        # @param seeking [Array<String>] topics whose consumers may seek before they consume anything
        def initialize(client, settings, pairs, seeking = [])
          @session = Session.new(settings, client:, timeout: TIMEOUT_SECONDS)
          @pairs = pairs
          @seeking = seeking
          @place = Connection::Client.reset_place(settings)
        end

        # Blocks for the brokers' answers. What cannot be asked is left out.
        # @yieldparam place [Array(String, Integer)] topic and partition; called once the brokers have answered
        # @yieldreturn [Boolean] whether its consumer has moved it meanwhile: it is left out
        # @return [Array<Array(String, Hash{Symbol=>Object})>] names and payloads of events, one for each topic
        def events
          return [] unless @place # librdkafka reports an error

          committed = known(@session.committed(@pairs))
          ranges = known(@session.ranges(topics))
          places = committed.select { |place, _| ranges.key?(place) && !(block_given? && yield(place)) }
          [*without_offsets(places, ranges), *reset(places, ranges)]
        rescue KafkaError
          [] # the listener reports what keeps it from reading
        end

        private

        def topics
          wanted = @pairs.group_by(&:first).transform_values { |same| same.map(&:last) }
          @session.describe(wanted.keys).map { |topic| topic.with(leaders: topic.leaders.slice(*wanted.fetch(topic.name))) }
        end

        def known(answers) = answers.reject { |_, answer| answer.is_a?(KafkaError) }

        def without_offsets(places, ranges)
          by_topic(places.select { |_, (offset, _)| offset.nil? }.keys).map do |topic, numbers|
            counts = numbers.to_h { |number| [number, ranges.fetch([topic, number]).size] }
            ["offsets.none", {topic:, partitions: numbers, place: @place, messages: counts.values.sum, may_seek: @seeking.include?(topic)}]
          end
        end

        def reset(places, ranges)
          gone = places.filter_map do |place, (offset, _)|
            present = ranges.fetch(place)
            next if offset.nil? || offset.between?(present.begin, present.end)

            [place, [offset, @place == :earliest ? present.begin : present.end]]
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
