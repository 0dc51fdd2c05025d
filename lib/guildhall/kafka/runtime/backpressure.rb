# frozen_string_literal: true

module Guildhall
  module Kafka
    class Runtime
      # How much of all partitions is in memory and not done: when that is as much as may be, readers take nothing more from
      # the partitions' queues, where it stays with librdkafka. May be used by any thread.
      class Backpressure
        # What there is room for; more where batches need more. A message costs about a kilobyte of Ruby objects beside its bytes, so that
        # these are 100 MB: who has less memory than that sets max_bytes_in_flight.
        # @api private
        MAX_MESSAGES = 100_000
        # Unless the application says.
        # @api private
        DEFAULT_BYTES = 268_435_456

        # @return [Array(Integer, Integer)] messages and bytes with which partitions that are in work, as many as there are
        #   runners, cannot take all the room: else slow ones would hold up the others
        def self.minimum(config, topics)
          batches = (config.concurrency * (Partition::Backlog::AHEAD + 1)) + 1
          [[config.max_messages, *topics.filter_map(&:max_messages)].max * batches,
           [config.max_bytes, *topics.filter_map(&:max_bytes)].max * batches]
        end

        def self.validate(config, topics, problems)
          bytes = config.max_bytes_in_flight
          _, minimum = minimum(config, topics)
          return if bytes.nil? || bytes >= minimum

          problems.add("max_bytes_in_flight has to be at least #{minimum}, not #{bytes}: three batches for each of the runners, and " \
                       "one more")
        end

        # What is in memory now, and what may be.
        attr_reader :messages, :bytes, :max_messages, :max_bytes

        # @param max_messages [Integer, nil] for tests; nil: MAX_MESSAGES, or what the runners need
        # @yield called when there is room again, for callers that found none
        def initialize(config, topics, max_messages: nil, &on_room)
          messages, bytes = self.class.minimum(config, topics)
          @max_messages = max_messages || [MAX_MESSAGES, messages].max
          @max_bytes = config.max_bytes_in_flight || [DEFAULT_BYTES, bytes].max
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
            room? ? [@max_messages - @messages, @max_bytes - @bytes] : [0, 0]
          end
        end

        def add(batch)
          @lock.synchronize do
            @messages += batch.records.size
            @bytes += batch.bytes
          end
        end

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

        def room? = @messages < @max_messages && @bytes < @max_bytes
      end
    end
  end
end
