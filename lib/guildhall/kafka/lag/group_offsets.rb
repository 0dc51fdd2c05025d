# frozen_string_literal: true

require_relative "../connection/client_config"
require_relative "../connection/coordinator_retry"
require_relative "../producing/producer"

module Guildhall
  module Kafka
    module Lag
      # What one consumer group has committed, asked of the broker without joining it.
      class GroupOffsets
        TIMEOUT_MS = 10_000
        private_constant :TIMEOUT_MS

        # @param consumer [Rdkafka::Consumer] with the group's id
        # @param settings [Hash{Symbol=>Object}] librdkafka's
        # @param topics [Array<Routing::Topic>] of that group
        def initialize(consumer, settings, topics)
          @consumer = consumer
          @settings = settings
          @topics = topics
        end

        # Blocks for the broker's answers.
        # @return [Array<Array(String, Integer, Integer | nil, String | nil)>] of each partition of the topics that there are: topic,
        #   partition, offset and metadata; nil where nothing was committed
        # @raise [Rdkafka::RdkafkaError]
        def to_a
          list = Rdkafka::Consumer::TopicPartitionList.new
          present.each { |topic| list.add_topic(topic.fetch(:topic_name), topic.fetch(:partition_count)) }
          return [] if list.empty?

          Connection::CoordinatorRetry.run { @consumer.committed(list, TIMEOUT_MS) }.to_h.flat_map do |topic, partitions|
            partitions.map { |one| [topic, one.partition, *([one.offset, one.metadata] if one.offset&.>=(0))] }
          end
        end

        private

        # A pattern may match any number of topics.
        def present
          admin = Rdkafka::Config.new(Producing::Producer.shared(@settings)).admin
          admin.metadata.topics.select { |topic| @topics.any? { |route| route.match?(topic.fetch(:topic_name)) } }
            .sort_by { |topic| topic.fetch(:topic_name) }
        ensure
          admin&.close
        end
      end
    end
  end
end
