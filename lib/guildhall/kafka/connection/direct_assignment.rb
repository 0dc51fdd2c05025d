# frozen_string_literal: true

require_relative "../iterating/span"

module Guildhall
  module Kafka
    module Connection
      # Where the partitions of a topic begin that are read without a consumer group. Belongs to a listener's thread.
      class DirectAssignment
        # @param topic [Routing::Topic]
        def initialize(topic)
          @topic = topic
          @reached = {}
        end

        # Blocks for the brokers' answers.
        # @param client [Client]
        # @return [Hash{Integer=>Integer}] the offset where each partition begins; after a restart of the client: continues
        # @raise [Rdkafka::RdkafkaError] also where there is no such topic or partition
        def offsets(client)
          @topic.assigned.to_h { |number, from| [number, @reached[number] || first(client, number, from)] }
        end

        # @param partition [Processing::Partition] that is given up
        # @return [void]
        def note(partition)
          @reached[partition.number] = partition.next_offset || @reached[partition.number]
        end

        private

        def first(client, number, from)
          from = :earliest if from == :all
          Iterating::Span.new(from, nil).resolve(client, @topic.name, number).first
        end
      end
    end
  end
end
