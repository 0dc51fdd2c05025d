# frozen_string_literal: true

require_relative "../broker/librdkafka"

module Guildhall
  module Kafka
    class Partition
      # Hands one partition's offset to librdkafka, which commits it. With the lock of {Progress} held, but for what asks the broker.
      # @api private
      class OffsetStore
        def initialize(client, topic, partition)
          @client = client
          @topic = topic
          @partition = partition
          @backwards = false
          @written = nil
        end

        # (see Group::Client#store)
        def write(offset, metadata = nil)
          return false unless @client.store(@topic, @partition, offset, metadata)

          renew(offset, metadata)
          if @backwards # of what is stored librdkafka commits by itself only what lies beyond the last commit
            @backwards = false
            @client.commit_to(@topic, @partition, offset, metadata)
          end
          true
        end

        # Allows the committed offset to move backwards (after a seek).
        def rewind = @backwards = true

        def commit = @client.commit
        def committed = @client.committed(@topic, @partition)

        # What was not committed yet is not to be: if the topic was recreated, it would be taken for an offset of the new one.
        def dismiss = @client.store(@topic, @partition, Broker::Librdkafka::NO_OFFSET)

        private

        def renew(offset, metadata)
          before = @written
          @written = [offset, metadata]
          return if before == @written || (before.nil? && metadata.nil?)
          return @client.forget_metadata(@topic, @partition) unless before.nil? || offset == before.first

          @client.renew_metadata(@topic, @partition, offset, metadata)
        end
      end

      # Stands for {OffsetStore} where there is no consumer group: nothing is committed.
      # @api private
      class NoOffsetStore
        def write(_offset, _metadata = nil) = true
        def commit = true
        def committed = [nil, nil]
        def rewind = nil
        def dismiss = nil
      end
    end
  end
end
