# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # The batches of a partition that are in memory, the first of them in work; what they hold counts as in flight,
      # but while the partition rests: nobody works on it then, and it must not hold up the others. With the
      # partition's lock held.
      class Backlog
        # @param in_flight [InFlight]
        def initialize(in_flight)
          @in_flight = in_flight
          @batches = []
          @aside = false
        end

        # @param batch [Batch]
        # @return [void]
        def <<(batch)
          @batches << batch
          @in_flight.add(batch) unless @aside
        end

        # @return [Batch, nil]
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

        # @return [Batch, nil]
        def shift
          batch = @batches.shift
          @in_flight.remove(batch) if batch && !@aside
          batch
        end

        # @return [void]
        def clear
          shift until empty?
        end

        # @param resting [Boolean] whether the partition rests
        # @return [void]
        def aside=(resting)
          return if @aside == resting

          @aside = resting
          @batches.each { |batch| resting ? @in_flight.remove(batch) : @in_flight.add(batch) }
        end
      end
    end
  end
end
