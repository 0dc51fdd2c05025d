# frozen_string_literal: true

require_relative "../broker/offset_range"
require_relative "../broker/session"

module Guildhall
  module Kafka
    module Connection
      # Where the partitions of a topic begin that are read without a consumer group. Belongs to a listener's thread.
      class DirectAssignment
        def initialize(topic)
          @topic = topic
          @reached = {}
        end

        # Blocks for the brokers' answers.
        # @param settings [Hash{Symbol=>Object}] the client's
        # @return [Hash{Integer=>Integer}] the offset where each partition begins; after a restart of the client: continues
        # @raise [UnknownTopicError]
        # @raise [KafkaError] also where there is no such partition
        def offsets(settings)
          new = @topic.assigned.except(*@reached.compact.keys)
          found = new.empty? ? {} : Broker::Session.open(settings) { |session| first(session, new) }
          @topic.assigned.to_h { |number, _| [number, @reached[number] || found.fetch(number)] }
        end

        # @param partition [Partition] that is given up
        def note(partition)
          @reached[partition.number] = partition.next_offset || @reached[partition.number]
        end

        private

        def first(session, wanted)
          topic = session.topic(@topic.name)
          wanted.group_by(&:last).each_with_object({}) do |(from, some), found|
            range = Broker::OffsetRange.new(from == :all ? :earliest : from, nil)
            range.resolve(session, topic, some.map(&:first)).each { |(_, number), offsets| found[number] = offsets.begin }
          end
        end
      end
    end
  end
end
