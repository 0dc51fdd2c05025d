# frozen_string_literal: true

module Guildhall
  module Kafka
    module Processing
      # The batches of a partition that are in memory, the first of them in work; what they hold counts as in flight,
      # but while the partition rests: no runner works on it then, and it must not block the others. With the
      # lock of {Schedule} held.
      class Backlog
        # @param backpressure [Backpressure]
        def initialize(backpressure)
          @backpressure = backpressure
          @batches = []
          @uncounted = false
        end

        # @param batch [Messages::Batch]
        # @return [void]
        def <<(batch)
          @batches << batch
          @backpressure.add(batch) unless @uncounted
        end

        # @return [Messages::Batch, nil]
        def first
          @batches.first
        end

        # @return [Integer]
        def size
          @batches.size
        end

        # @return [Boolean]
        def empty?
          @batches.empty?
        end

        # @return [Messages::Batch, nil]
        def shift
          batch = @batches.shift
          @backpressure.remove(batch) if batch && !@uncounted
          batch
        end

        # @param parts [Array<Messages::Batch>] that hold together what the first batch holds
        # @return [void]
        def replace_first(parts)
          @batches[0, 1] = parts
        end

        # @return [void]
        def clear
          shift until empty?
        end

        # @param resting [Boolean] whether the partition rests
        # @return [void]
        def pause_accounting(resting)
          return if @uncounted == resting

          @uncounted = resting
          @batches.each { |batch| resting ? @backpressure.remove(batch) : @backpressure.add(batch) }
        end
      end
    end
  end
end
