# frozen_string_literal: true

require_relative "../processing/done_ranges"
require_relative "group_offsets"

module Guildhall
  module Kafka
    module Lag
      # Which keys one consumer group has parked, asked of the broker without joining it: whose messages it has passed over, as the
      # done ranges beside its committed offsets say.
      class GroupKeys
        # One key of a partition. key: of the messages, nil where they have none; offset: of the first of its messages that were passed
        # over; messages: how many those are; seconds: the age of the first;
        # nil: it has no timestamp.
        Row = Data.define(:group, :topic, :partition, :key, :offset, :messages, :seconds)

        # What lies between two gaps is read over where it is no more than that; else the second is read by another client.
        MAX_DISTANCE = 10_000
        private_constant :MAX_DISTANCE

        # @param settings [Hash{Symbol=>Object}] librdkafka's, as the group's members have them
        # @param topics [Array<Routing::Topic>] of that group
        # @yield reads messages
        # @yieldparam topic [String]
        # @yieldparam partition [Integer]
        # @yieldparam span [Range<Integer>] of offsets
        # @yieldreturn [Enumerable<Message>]
        def initialize(settings, topics, &read)
          @settings = settings.merge("enable.auto.commit": "false")
          @topics = topics
          @read = read
        end

        # Blocks for the broker's answers.
        # @return [Array<Row>]
        # @raise [Rdkafka::RdkafkaError]
        def rows
          committed.flat_map do |topic, partition, offset, metadata|
            gaps = offset ? gaps(offset, metadata) : []
            gaps.slice_when { |gap, after| after.begin - gap.end > MAX_DISTANCE }
              .flat_map { |near| skipped(topic, partition, near) }
              .group_by { |message| message.raw_key || message.offset }.values.map { |same| row(topic, partition, same) }
          end
        end

        private

        def committed
          consumer = Rdkafka::Config.new(@settings).consumer
          GroupOffsets.new(consumer, @settings, @topics).to_a
        ensure
          consumer&.close
        end

        # @return [Array<Range<Integer>>] what was passed over
        def gaps(offset, metadata)
          Processing::DoneRanges.load(offset, metadata).map do |done|
            (offset...done.begin).tap { offset = done.end }
          end
        end

        def skipped(topic, partition, gaps)
          @read.call(topic, partition, gaps.first.begin...gaps.last.end).select do |message|
            gaps.bsearch { |gap| message.offset < gap.end }&.cover?(message.offset)
          end
        end

        def row(topic, partition, messages)
          first = messages.first
          Row.new(group: @topics.first.group, topic:, partition:, key: first.raw_key, offset: first.offset, messages: messages.size,
            seconds: first.timestamp && [Time.now - first.timestamp, 0.0].max)
        end
      end
    end
  end
end
