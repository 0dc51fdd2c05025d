# frozen_string_literal: true

module Guildhall
  module Kafka
    module Processing
      # How much the reader may take of a partition: nothing while it rests or moves, else a batch at a time. With the lock of
      # {Schedule} held.
      class Intake
        # Batches that may wait behind the one in work. More would only make them smaller: what is left in librdkafka's
        # queue meanwhile comes as a bigger batch.
        AHEAD = 2

        # @return [Integer] a batch has at most that many messages
        attr_reader :max_messages
        # @return [#allow, #close, nil] the reader's queue
        attr_accessor :queue

        # @param topic [Routing::Topic]
        # @param config [Config]
        def initialize(topic, config)
          @max_messages = topic.max_messages || config.max_messages
          @max_bytes = topic.max_bytes || config.max_bytes
          @queue = nil
        end

        # @param waiting [Integer, nil] how many batches there are; nil: nothing may be taken
        # @return [void]
        def allow(waiting)
          @queue&.allow(waiting && waiting <= AHEAD ? @max_messages : 0, @max_bytes)
        end

        # @return [void]
        def close
          @queue&.close
          @queue = nil
        end

        # Cuts up what came before the partition had a queue of its own, without a limit.
        # @param records [Array<Record>]
        # @yieldparam range [Range<Integer>] of records that make one batch
        # @return [void]
        def each_batch(records)
          (0...records.size).step(@max_messages) { |first| yield first...[first + @max_messages, records.size].min }
        end
      end
    end
  end
end
