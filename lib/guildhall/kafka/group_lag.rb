# frozen_string_literal: true

require_relative "client_config"
require_relative "coordinator"
require_relative "producer"

module Guildhall
  module Kafka
    # How far one consumer group is behind, asked of the broker: by what it has committed, without joining it.
    class GroupLag
      # One partition. committed: nil where nothing was committed yet, then all messages count; seconds: the age of the
      # first message that is not committed, 0.0 where there is none, nil where it could not be read in time.
      Row = Data.define(:group, :topic, :partition, :committed, :end_offset, :messages, :seconds)

      TIMEOUT_MS = 10_000
      # The first message of each partition is read and nothing more.
      SETTINGS = {"enable.auto.commit": "false", "queued.min.messages": 1, "fetch.message.max.bytes": 1_000}.freeze

      # @param settings [Hash{Symbol=>Object}] librdkafka's, as the group's members have them
      # @param topics [Array<Routing::Topic>] of that group
      # @param timeout [Numeric] seconds for reading messages, which only the times need
      def initialize(settings, topics, timeout: 5)
        @settings = settings.merge(SETTINGS)
        @topics = topics
        @timeout = timeout
        @group = topics.first.group
      end

      # Blocks for the broker's answers.
      # @return [Array<Row>]
      # @raise [Rdkafka::RdkafkaError]
      def rows
        @consumer = Rdkafka::Config.new(@settings).consumer
        rows = committed.map { |topic, partition, offset| row(topic, partition, offset) }
        times = times(rows.select { |row| row.messages.positive? })
        rows.map { |row| row.messages.zero? ? row.with(seconds: 0.0) : row.with(seconds: times[[row.topic, row.partition]]) }
      ensure
        @consumer&.close
      end

      private

      def committed
        list = Rdkafka::Consumer::TopicPartitionList.new
        present.each { |topic| list.add_topic(topic.fetch(:topic_name), topic.fetch(:partition_count)) }
        return [] if list.empty?

        Coordinator.ask { @consumer.committed(list, TIMEOUT_MS) }.to_h.flat_map do |topic, partitions|
          partitions.map { |partition| [topic, partition.partition, (partition.offset if partition.offset&.>=(0))] }
        end
      end

      # A pattern may match any number of topics.
      def present
        admin = Rdkafka::Config.new(@settings.select { |name, _| Producer::SHARED.any? { |prefix| name.start_with?(prefix) } }).admin
        admin.metadata.topics.select { |topic| @topics.any? { |route| route.match?(topic.fetch(:topic_name)) } }
          .sort_by { |topic| topic.fetch(:topic_name) }
      ensure
        admin&.close
      end

      def row(topic, partition, committed)
        low, high = @consumer.query_watermark_offsets(topic, partition, TIMEOUT_MS)
        messages = [high - [committed || low, low].max, 0].max
        Row.new(group: @group, topic:, partition:, committed:, end_offset: high, messages:, seconds: nil)
      end

      # @return [Hash{Array(String, Integer)=>Float}] seconds by topic and partition
      def times(rows)
        waiting = rows.to_h { |row| [[row.topic, row.partition], nil] }
        return waiting if waiting.empty?

        assign(rows)
        limit = Clock.now + @timeout
        while waiting.value?(nil) && Clock.now < limit
          message = @consumer.poll(200) or next
          waiting[[message.topic, message.partition]] ||= [Time.now - message.timestamp, 0.0].max
        end
        waiting
      end

      def assign(rows)
        partitions = rows.group_by(&:topic).transform_values do |same|
          same.map { |row| Rdkafka::Consumer::Partition.new(row.partition, row.end_offset - row.messages) }
        end
        @consumer.assign(Rdkafka::Consumer::TopicPartitionList.new(partitions))
      end
    end
  end
end
