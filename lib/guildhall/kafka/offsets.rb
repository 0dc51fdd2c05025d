# frozen_string_literal: true

module Guildhall
  module Kafka
    # How far one partition is done. Offsets only grow, but for a seek; nothing is stored once the partition is gone.
    # May be used by several threads.
    class Offsets
      # @param client [Client]
      def initialize(client, topic, partition)
        @client = client
        @topic = topic
        @partition = partition
        @lock = Mutex.new
        @following = nil
        @rewound = @gone = false
      end

      # @return [Integer, nil] the first offset that is not done; nil when nothing was done yet
      def following
        @lock.synchronize { @following }
      end

      # @param offset [Integer] the first one that is not done
      # @param metadata [String, nil]
      # @return [Boolean] false when the partition is no longer ours
      def store(offset, metadata = nil)
        @lock.synchronize do
          next false if @gone
          next true if @following && offset <= @following && metadata.nil?

          @following = [@following || offset, offset].max
          stored = @client.store(@topic, @partition, @following, metadata)
          commit_lower(metadata) if stored && @rewound
          stored
        end
      end

      # Blocks for the broker's answer.
      # @return [Boolean] false when the partition is no longer ours
      def commit
        !@gone && @client.commit
      end

      # What is stored from now on may be lower.
      # @return [void]
      def rewind
        @lock.synchronize do
          @following = nil
          @rewound = true
        end
      end

      # Nothing is stored from now on.
      # @param dismiss [Boolean] whether what was not committed yet is not to be: were the topic deleted and created anew,
      #   it would be taken for an offset of the new one
      # @return [void]
      def close(dismiss: false)
        @lock.synchronize do
          @client.store(@topic, @partition, Librdkafka::NO_OFFSET) if dismiss && !@gone
          @gone = true
        end
      end

      # @return [Boolean]
      def closed?
        @gone
      end

      private

      # Of what is stored librdkafka commits by itself only what lies beyond the last commit.
      def commit_lower(metadata)
        @rewound = false
        @client.commit_to(@topic, @partition, @following, metadata)
      end
    end
  end
end
