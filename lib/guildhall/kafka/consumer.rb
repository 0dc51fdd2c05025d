# frozen_string_literal: true

module Guildhall
  module Kafka
    # The superclass of an application's consumers. One instance handles one partition for as long as it is assigned
    # (with virtual partitions: one of each); its methods are called by runner threads of the main Ractor, never by two
    # at once.
    #
    #     class OrdersConsumer < Guildhall::Kafka::Consumer
    #       def consume
    #         messages.each { |message| Order.upsert(message.payload) }
    #       end
    #     end
    #
    # When `consume` returns, its messages are done; when it raises, it is called again after a pause with those that
    # were not marked as consumed. Threads of a consumer's own belong into `initialized` and have to end in `revoked`
    # and `shutdown`: one of the two is always called.
    class Consumer
      # @return [Messages] the batch
      attr_accessor :messages
      # @!visibility private
      attr_writer :seat

      # Called once, before anything else.
      # @return [void]
      def initialized; end

      # Called every `config.tick_interval` seconds, also while there are no messages.
      # @return [void]
      def tick; end

      # Called when the partition's end was reached, where the librdkafka setting `enable.partition.eof` is true.
      # @return [void]
      def eofed; end

      # Called when the partition went to another member of the group.
      # @return [void]
      def revoked; end

      # Called when the process stops.
      # @return [void]
      def shutdown; end

      # @return [Routing::Topic] the route
      def topic
        @seat.topic
      end

      # @return [String] the topic's name; with a pattern, the one that matched
      def topic_name
        @seat.name
      end

      # @return [Integer]
      def partition
        @seat.number
      end

      # @return [Integer] 1 at first, 2 when it is called again after it raised, and so on
      def attempt
        @seat.attempt
      end

      # @return [Boolean]
      def retrying?
        attempt > 1
      end

      # @return [Boolean] with virtual partitions: whether the partition is consumed in order for now, after a failure
      def collapsed?
        @seat.collapsed?
      end

      # @return [Boolean] whether the partition has gone, or is about to go, to another member: work that was not marked
      #   as consumed will be done there again
      def revoked?
        @seat.revoked?
      end

      # @return [Boolean] whether the process is about to stop
      def stopping?
        @seat.stopping?
      end

      # This message and all before it are done; committed within `config.commit_interval`. Does not block.
      # @param message [Message]
      # @param metadata [String, nil] kept beside the offset by the broker
      # @return [Boolean] false when the partition is no longer ours
      def mark_as_consumed(message, metadata = nil)
        @seat.mark(message.offset, metadata)
      end

      # Like {#mark_as_consumed}, but commits at once and blocks for the broker's answer.
      # @return [Boolean] false when the partition is no longer ours
      def mark_as_consumed!(message, metadata = nil)
        @seat.mark(message.offset, metadata) && @seat.commit
      end

      # @param offset [Integer] of the last message that is done
      # @param metadata [String, nil]
      # @return [Boolean] false when the partition is no longer ours
      def mark_offset(offset, metadata = nil)
        @seat.mark(offset, metadata)
      end

      # Commits what was marked; blocks for the broker's answer.
      # @return [Boolean] false when the partition is no longer ours
      def commit_offsets!
        @seat.commit
      end

      # No more messages of this partition, once `consume` has returned; other partitions go on.
      # @param offset [Integer, Symbol, Time, nil] where to go on; nil: with the message after this batch
      # @param seconds [Numeric, nil] nil: until {#resume}
      # @return [void]
      def pause(offset = nil, seconds = nil)
        @seat.seek(offset) if offset
        @seat.pause(seconds)
      end

      # Ends a pause. May be called by any thread.
      # @return [void]
      def resume
        @seat.resume
      end

      # @return [Boolean]
      def paused?
        @seat.paused?
      end

      # Where to go on once `consume` has returned, instead of after this batch. Does not block; where the broker cannot say
      # which offset that is, it is asked again, and each time is told as the event `error.occurred` (type `seek`).
      # @param where [Integer, Symbol, Time] an offset, :earliest, :latest, or the first message at or after a time
      # @return [void]
      # @raise [Guildhall::ArgumentError]
      def seek(where)
        @seat.seek(where)
      end

      # @return [WaterDrop::Producer]
      def producer
        @seat.producer
      end

      # Runs the block while no other virtual partition of this partition is in such a block.
      # @return [Object] what the block returns
      def synchronize(&)
        @seat.synchronize(&)
      end
    end
  end
end
