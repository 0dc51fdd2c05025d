# frozen_string_literal: true

module Guildhall
  module Kafka
    module Virtual
      # One batch, handled by the virtual partitions side by side. Knows which of its messages are done: offsets advance
      # up to the first that is not, and what is done beyond it is noted in the offset's metadata.
      class Round
        # @return [Batch]
        attr_reader :batch
        # @return [Exception, nil] the first that a consumer raised
        attr_reader :error

        # @param batch [Batch]
        # @param shares [Array<Messages>]
        # @param partition [Partition] told by {Partition#round_ended} when all of it has ended
        def initialize(batch, shares, partition)
          @batch = batch
          @partition = partition
          @lock = Mutex.new
          @running = shares.size
          @done = {}
          @waiting = shares.flat_map { |messages| messages.map(&:offset) }.sort
          @manual = partition.topic.manual_offset_management
        end

        # @return [Array<Integer>] offsets of the messages that are done
        def done
          @lock.synchronize { @done.keys }
        end

        # @param messages [Messages] the virtual partition's
        # @param offset [Integer] of the last one that is done
        # @param metadata [String, nil] the user's own
        # @return [Boolean] false when the partition is no longer ours
        def mark(messages, offset, metadata = nil)
          finish(messages.map(&:offset).take_while { |other| other <= offset }, metadata)
        end

        # @return [void]
        def succeeded(messages)
          finish(messages.map(&:offset)) unless @manual
        end

        # @return [void]
        def failed(error, messages)
          @lock.synchronize { @error ||= error }
          @partition.told(error, messages)
        end

        # A virtual partition has nothing left to do in this round.
        # @return [void]
        def ended
          @partition.round_ended(self) if @lock.synchronize { (@running -= 1).zero? }
        end

        private

        def finish(offsets, metadata = nil)
          @lock.synchronize do
            offsets.each { |offset| @done[offset] = true }
            @waiting.shift while @waiting.any? && @done[@waiting.first]
            following = @waiting.first || @batch.end_offset
            beyond = @done.keys.select { |offset| offset > following }
            @partition.offsets.store(following, DoneRanges.dump(following, beyond, metadata))
          end
        end
      end
    end
  end
end
