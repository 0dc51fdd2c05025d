# frozen_string_literal: true

require_relative "dead_letter"
require_relative "../producing/producer"

module Guildhall
  module Kafka
    module DeadLetterQueue
      # What a dead letter topic holds, for those who look through it or replay it. Joins no group, and disturbs none.
      # Belongs to one thread; close it.
      class Topic
        TIMEOUT_MS = 10_000
        SETTINGS = {"enable.auto.commit": false, "enable.partition.eof": true, "auto.offset.reset": "earliest"}.freeze
        private_constant :TIMEOUT_MS, :SETTINGS

        # @return [String]
        attr_reader :name

        # @param name [String]
        # @param config [Config]
        # @raise [UnknownTopicError]
        # @raise [Rdkafka::RdkafkaError]
        def initialize(name, config)
          @name = name
          @config = config
          @consumer = Rdkafka::Config.new(settings).consumer
          @partition_count = topics.fetch(name) { raise UnknownTopicError.new(name, topics.keys) }
        rescue StandardError
          close
          raise
        end

        # Blocks for the broker's answer, the first time.
        # @return [Hash{String=>Integer}] all topics that there are, and how many partitions they have
        def topics
          @topics ||= begin
            admin = Rdkafka::Config.new(Producing::Producer.shared(@config.kafka)).admin
            admin.metadata.topics.to_h { |topic| [topic.fetch(:topic_name), topic.fetch(:partition_count)] }
          ensure
            admin&.close
          end
        end

        # Blocks for the broker's answers.
        # @return [Hash{Integer=>Range<Integer>}] the offsets that there are now, by partition
        def ranges
          (0...@partition_count).to_h do |partition|
            low, high = @consumer.query_watermark_offsets(@name, partition, TIMEOUT_MS)
            [partition, low...high]
          end
        end

        # Blocks for the broker.
        # @param partition [Integer]
        # @param range [Range<Integer>] of offsets, without its end
        # @yieldparam dead_letter [DeadLetter] in the order of their offsets
        # @return [void]
        # @raise [Rdkafka::RdkafkaError]
        def each(partition, range)
          return if range.none?

          assign(partition, range.begin)
          until (message = poll) == :end
            next unless message
            break if message.offset >= range.end

            yield DeadLetter.from(message)
            break if message.offset + 1 >= range.end
          end
        end

        # Blocks for the broker's answer.
        # @return [Hash{Integer=>Integer, nil}] by partition the offset behind the last dead letter that was replayed in order
        def replayed
          list = Rdkafka::Consumer::TopicPartitionList.new
          list.add_topic(@name, @partition_count)
          Connection::CoordinatorRetry.run { @consumer.committed(list, TIMEOUT_MS) }.to_h.fetch(@name)
            .to_h { |one| [one.partition, (one.offset if one.offset&.>=(0))] }
        end

        # Notes that everything before an offset was replayed. Blocks for the broker's answer.
        # @param partition [Integer]
        # @param offset [Integer]
        # @return [void]
        def replayed_up_to(partition, offset)
          list = Rdkafka::Consumer::TopicPartitionList.new(@name => [Rdkafka::Consumer::Partition.new(partition, offset)])
          Connection::CoordinatorRetry.run { @consumer.commit(list) }
        end

        # @return [void]
        def close
          @consumer&.close
        end

        private

        # How far it was replayed is kept as a committed offset, of a group without members.
        def settings
          own = {"client.id": @config.client_id, "group.id": "#{@config.group_id}.replay"}
          {**Producing::Producer.shared(@config.kafka), **own, **SETTINGS}
        end

        def assign(partition, offset)
          one = Rdkafka::Consumer::Partition.new(partition, offset)
          @consumer.assign(Rdkafka::Consumer::TopicPartitionList.new(@name => [one]))
        end

        def poll
          @consumer.poll(100)
        rescue Rdkafka::RdkafkaError => error
          raise unless error.code == :partition_eof

          :end
        end
      end
    end
  end
end
