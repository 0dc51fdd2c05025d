# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # What consumers ask of their partition, and how it ends.
      module Control
        # A seek that was asked for, and how often the broker has not answered where that is.
        Seek = Struct.new(:where, :failures)
        private_constant :Seek

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

        # What was read already is dropped; the listener, which alone may move librdkafka's position, does the rest. It tries
        # again until the broker answers, and reads nothing of this partition meanwhile.
        # @param where [Integer, Symbol, Time]
        # @return [void]
        # @raise [Guildhall::ArgumentError]
        def seek(where)
          Client.check_place!(where)
          seek = Seek.new(where, 0)
          @lock.synchronize do
            @seek = seek
            @batches.clear
            @offsets.rewind
          end
          @listener.request { sought(seek) }
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

        # Offsets that come later are not stored. A seek that was not done yet will not be: that is told.
        # @return [void]
        def close
          tell_seek(Guildhall::Error.new("the partition was given up before this seek was done"), @seek) if @seek
          @offsets.close(dismiss: @missing)
          @queue&.close
          @queue = nil
        end

        private

        def sought(seek)
          return if @leaving || !@seek.equal?(seek)

          offset = @listener.client.resolve(@name, @number, seek.where)
          @listener.client.seek(@name, @number, offset)
          @position = offset
          change { @seek = nil if @seek.equal?(seek) }
        rescue Rdkafka::RdkafkaError => error
          tell_seek(error, seek)
          seek.failures += 1
          @application.timer.after(@backoff.seconds(seek.failures)) { @listener.request { sought(seek) } }
        end

        def tell_seek(error, seek)
          @application.error(error, "seek", topic: @name, partition: @number, to: seek.where)
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
