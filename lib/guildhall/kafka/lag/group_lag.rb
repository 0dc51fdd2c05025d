# frozen_string_literal: true

require_relative "group_offsets"

module Guildhall
  module Kafka
    # How far a group is behind.
    module Lag
      # How far one consumer group is behind, asked of the broker: by what it has committed, without joining it.
      class GroupLag
        # One partition. committed: nil where nothing was committed yet, then all messages count; messages: what lies between the
        # committed offset and the end, in which marks of transactions count like messages, but 0 where there is no message
        # among them; seconds: the age of the first message that is not committed, 0.0 where there is none, nil where it could
        # not be read in time.
        Row = Data.define(:group, :topic, :partition, :committed, :end_offset, :messages, :seconds)

        TIMEOUT_MS = 10_000
        # The first message of each partition is read and nothing more, or its end where there is none.
        SETTINGS = {"enable.auto.commit": "false", "queued.min.messages": 1, "fetch.message.max.bytes": 1_000,
                    "enable.partition.eof": true}.freeze

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
          rows = GroupOffsets.new(@consumer, @settings, @topics).to_a.map { |topic, partition, offset,| row(topic, partition, offset) }
          firsts = firsts(rows.select { |row| row.messages.positive? })
          rows.map { |row| row.messages.zero? ? row.with(seconds: 0.0) : finish(row, firsts[[row.topic, row.partition]]) }
        ensure
          @consumer&.close
        end

        private

        def row(topic, partition, committed)
          low, high = @consumer.query_watermark_offsets(topic, partition, TIMEOUT_MS)
          messages = [high - [committed || low, low].max, 0].max
          Row.new(group: @group, topic:, partition:, committed:, end_offset: high, messages:, seconds: nil)
        end

        # @param first [Time, :none, nil] when the first message was written that is not committed; nil: it could not be read
        def finish(row, first)
          case first
          when :none then row.with(messages: 0, seconds: 0.0)
          when Time then row.with(seconds: [Time.now - first, 0.0].max)
          else row
          end
        end

        # @return [Hash{Array(String, Integer)=>Time, :none}] by topic and partition
        def firsts(rows)
          found = {}
          return found if rows.empty?

          assign(rows)
          limit = Clock.now + @timeout
          while found.size < rows.size && Clock.now < limit
            place, first = poll
            found[place] ||= first if place
          end
          found
        end

        # @return [Array, nil] a topic and partition, and when its first message was written, or :none at its end
        def poll
          message = @consumer.poll(200) or return
          [[message.topic, message.partition], message.timestamp]
        rescue Rdkafka::RdkafkaError => error
          raise unless error.code == :partition_eof

          [error.details.values_at(:topic, :partition), :none]
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
end
