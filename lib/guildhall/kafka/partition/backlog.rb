# frozen_string_literal: true

require "forwardable"

module Guildhall
  module Kafka
    class Partition
      # The batches of a partition that are in memory, the first of them in work, and how much more the reader may take: nothing
      # while the partition rests or moves, else a batch at a time. What they hold counts as in flight, but while the partition
      # rests: no runner works on it then, and it must not block the others. With the lock of {Inbox} held.
      # @api private
      class Backlog
        extend Forwardable

        # Batches that may wait behind the one in work. More would only make them smaller: what is left in librdkafka's
        # queue meanwhile comes as a bigger batch.
        AHEAD = 2

        # @return [Integer] a batch has at most that many
        attr_reader :max_messages
        # @return [#allow, #close] the reader's
        attr_writer :queue

        def_delegators :@batches, :first, :size, :empty?

        def initialize(backpressure, topic, config)
          @backpressure = backpressure
          @max_messages = topic.max_messages || config.max_messages
          @max_bytes = topic.max_bytes || config.max_bytes
          @queue = nil
          @batches = []
          @uncounted = false
        end

        # @param open [Boolean] whether anything may be taken
        # @param resting [Boolean] whether the partition rests
        def allow(open, resting)
          unless @uncounted == resting
            @uncounted = resting
            @batches.each { |batch| resting ? @backpressure.remove(batch) : @backpressure.add(batch) }
          end
          @queue&.allow(open && size <= AHEAD ? @max_messages : 0, @max_bytes)
        end

        # @return [Integer] how many are in memory
        def messages = @batches.sum { |batch| batch.records.size }

        # The reader takes nothing more.
        def close
          @queue&.close
          @queue = nil
        end

        def <<(batch)
          @batches << batch
          @backpressure.add(batch) unless @uncounted
        end

        def shift
          batch = @batches.shift
          @backpressure.remove(batch) if batch && !@uncounted
        end

        # @param parts [Array<Messages::Batch>] that hold together what the first batch holds
        def replace_first(parts) = @batches[0, 1] = parts

        def clear
          shift until empty?
        end
      end
    end
  end
end
