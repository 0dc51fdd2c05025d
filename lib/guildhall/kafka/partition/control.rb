# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # What consumers ask of their partition, and how it ends.
      module Control
        # @param offset [Integer] of the last message that is done
        # @param metadata [String, nil]
        # @return [Boolean] false when the partition is no longer ours
        def mark(offset, metadata = nil)
          batch = @running
          @offsets.store(batch ? batch.offset_after(offset) : offset + 1, metadata)
        end

        # Blocks for the broker's answer.
        # @return [Boolean] false when the partition is no longer ours
        def commit
          @offsets.commit
        end

        # @return [Integer]
        def attempt
          @failures + 1
        end

        # @param seconds [Numeric, nil] nil: until {#resume}
        # @return [void]
        def pause(seconds)
          rest(seconds || Float::INFINITY)
          @application.publish("partition.paused", topic: @name, partition: @number, seconds:)
        end

        # @return [void]
        def resume
          change { @paused_until = nil }
          @application.publish("partition.resumed", topic: @name, partition: @number)
        end

        # @return [Boolean]
        def paused?
          @lock.synchronize { resting? }
        end

        # What was read already is dropped; the listener, which alone may move librdkafka's position, does the rest.
        # @param where [Integer, Symbol, Time]
        # @return [void]
        def seek(where)
          @lock.synchronize do
            @seek = where
            @batches.clear
            @offsets.rewind
          end
          @listener.request { sought(where) }
        end

        # Leaves the group and joins it anew, with all partitions of this client.
        # @return [void]
        def rejoin
          @listener.request { raise Guildhall::Error, "#{self} does not move: joining the group anew" }
        end

        # @return [Boolean]
        def revoked?
          @leaving == :revoked || @offsets.closed?
        end

        # @return [Boolean]
        def stopping?
          @leaving == :shutdown
        end

        # @return [WaterDrop::Producer]
        def producer
          @application.producer
        end

        # @return [Object] what the block returns
        def synchronize(&)
          @mutex.synchronize(&)
        end

        # No new work; the consumer is told once the work in progress is done. Does not block.
        # @param reason [Symbol] :revoked or :shutdown
        # @return [void]
        def leave(reason)
          change do
            @leaving ||= reason
            @batches.clear
            @events.clear
          end
          @application.timer.cancel(@wake_up)
        end

        # Blocks until the consumer has been told.
        # @param deadline [Float] of the monotonic clock, in seconds
        # @return [Boolean] false when it is still at work
        def wait(deadline)
          @lock.synchronize do
            @left_condition.wait(@lock, Clock.left(deadline)) until @left || Clock.now >= deadline
            @left
          end
        end

        # Offsets that come later are not stored.
        # @return [void]
        def close
          @offsets.close(dismiss: @missing)
          @queue&.close
          @queue = nil
        end

        private

        def sought(where)
          unless @leaving
            offset = @listener.client.resolve(@name, @number, where)
            @listener.client.seek(@name, @number, offset)
            @position = offset
          end
        ensure
          change { @seek = nil }
        end

        def rest(seconds)
          @application.timer.cancel(@wake_up)
          @lock.synchronize do
            @paused_until = Clock.now + seconds
            @batches.aside = true
            @wake_up = seconds.finite? ? @application.timer.after(seconds) { change { nil } } : nil
          end
        end
      end
    end
  end
end
