# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # The batches of a partition that are in memory, the first of them in work, and how much more the reader may take: nothing
      # while the partition rests or moves, else a batch at a time. What they hold counts as in flight, but while the partition
      # rests: no runner works on it then, and it must not block the others. With the lock of {Inbox} held.
      class Backlog
        # Batches that may wait behind the one in work. More would only make them smaller: what is left in librdkafka's
        # queue meanwhile comes as a bigger batch.
        AHEAD = 2

        # @return [Integer] a batch has at most that many messages
        attr_reader :max_messages
        # @return [#allow, #close, nil] the reader's queue
        attr_accessor :queue

        def initialize(backpressure, topic, config)
          @backpressure = backpressure
          @max_messages = topic.max_messages || config.max_messages
          @max_bytes = topic.max_bytes || config.max_bytes
          @queue = nil
          @batches = []
          @uncounted = false
        end

        # @param open [Boolean] whether anything may be taken
        def allow(open)
          @queue&.allow(open && size <= AHEAD ? @max_messages : 0, @max_bytes)
        end

        # The reader takes nothing more.
        def close
          @queue&.close
          @queue = nil
        end

        # Cuts up what came in two parts at once: more may be allowed while the reader still takes.
        # @yieldparam range [Range<Integer>] of records that make one batch
        def each_range(records)
          (0...records.size).step(@max_messages) { |first| yield first...[first + @max_messages, records.size].min }
        end

        def <<(batch)
          @batches << batch
          @backpressure.add(batch) unless @uncounted
        end

        def first
          @batches.first
        end

        def size
          @batches.size
        end

        def empty?
          @batches.empty?
        end

        def shift
          batch = @batches.shift
          @backpressure.remove(batch) if batch && !@uncounted
          batch
        end

        # @param parts [Array<Messages::Batch>] that hold together what the first batch holds
        def replace_first(parts)
          @batches[0, 1] = parts
        end

        def clear
          shift until empty?
        end

        # @param resting [Boolean] whether the partition rests
        def pause_accounting(resting)
          return if @uncounted == resting

          @uncounted = resting
          @batches.each { |batch| resting ? @backpressure.remove(batch) : @backpressure.add(batch) }
        end
      end
    end
  end
end
