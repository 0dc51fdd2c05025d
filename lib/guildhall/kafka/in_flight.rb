# frozen_string_literal: true

module Guildhall
  module Kafka
    # How much of all partitions is in memory and not done: when that is as much as may be, readers take nothing more from
    # the partitions' queues, where it stays with librdkafka. May be used by any thread.
    class InFlight
      # What there is room for unless the application says; more where its batches need more.
      DEFAULT_MESSAGES = 100_000
      DEFAULT_BYTES = 268_435_456

      # @param config [Config]
      # @param topics [Array<Routing::Topic>]
      # @return [Array(Integer, Integer)] messages and bytes with which partitions that are in work, as many as there are
      #   runners, cannot take all the room: else slow ones would hold up the others
      def self.least(config, topics)
        batches = (config.concurrency * (Partition::AHEAD + 1)) + 1
        [[config.max_messages, *topics.filter_map(&:max_messages)].max * batches,
         [config.max_bytes, *topics.filter_map(&:max_bytes)].max * batches]
      end

      # @param config [Config]
      # @param topics [Array<Routing::Topic>]
      # @param faults [Faults]
      # @return [void]
      def self.validate(config, topics, faults)
        settings = {max_messages_in_flight: config.max_messages_in_flight, max_bytes_in_flight: config.max_bytes_in_flight}
        settings.zip(least(config, topics)) do |(name, value), least|
          next if value.nil? || value >= least

          faults.add("#{name} has to be at least #{least}, not #{value}: three batches for each of the runners, and one more")
        end
      end

      # @return [Integer] so many are in memory now
      attr_reader :messages, :bytes
      # @return [Integer] so many may be
      attr_reader :most_messages, :most_bytes

      # @param config [Config]
      # @param topics [Array<Routing::Topic>]
      # @yield called when there is room again for those who were told that there is none
      def initialize(config, topics, &on_room)
        messages, bytes = self.class.least(config, topics)
        @most_messages = config.max_messages_in_flight || [DEFAULT_MESSAGES, messages].max
        @most_bytes = config.max_bytes_in_flight || [DEFAULT_BYTES, bytes].max
        @messages = @bytes = 0
        @on_room = on_room
        @lock = Mutex.new
        @refused = false
      end

      # For a reader that is about to take.
      # @return [Array(Integer, Integer)] messages and bytes that there is room for; 0 and 0: none
      def room
        @lock.synchronize do
          @refused = true unless room?
          room? ? [@most_messages - @messages, @most_bytes - @bytes] : [0, 0]
        end
      end

      # @param batch [Batch]
      # @return [void]
      def add(batch)
        @lock.synchronize do
          @messages += batch.records.size
          @bytes += batch.bytes
        end
      end

      # @param batch [Batch] that was added
      # @return [void]
      def remove(batch)
        @on_room.call if @lock.synchronize { take_off(batch) }
      end

      private

      # @return [Boolean] whether there is room again, and somebody waits for it
      def take_off(batch)
        @messages -= batch.records.size
        @bytes -= batch.bytes
        return false unless @refused && room?

        @refused = false
        true
      end

      def room?
        @messages < @most_messages && @bytes < @most_bytes
      end
    end
  end
end
