# frozen_string_literal: true

require_relative "consumer/flow"
require_relative "consumer/periodic"
require_relative "consumer/piping"
require_relative "consumer/producer_methods"

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
    # were not marked as consumed. To leave it early, mark what is done and call {#redeliver_unmarked}, or iterate with
    # {Messages#each_marking}. Start a consumer's own threads in `initialized` and end them in `revoked`
    # and `shutdown`: one of the two is always called.
    class Consumer
      include Flow
      include Periodic
      include Piping
      include ProducerMethods

      # @return [Messages] the batch
      attr_accessor :messages
      # @!visibility private
      attr_writer :call

      # Called once, before anything else.
      def initialized; end

      # Called every 5 seconds, also while there are no messages. For other intervals: {Periodic::Declaring#every}.
      def tick; end

      # Called when the partition's end was reached, where the librdkafka setting `enable.partition.eof` is true.
      def eofed; end

      # Called when the partition went to another member of the group.
      def revoked; end

      # Called when the process stops.
      def shutdown; end

      # @return [Routing::Topic] the route
      def topic
        @call.topic
      end

      # @return [String] the topic's name; with a pattern, the one that matched
      def topic_name
        @call.name
      end

      def partition
        @call.number
      end

      # @return [Integer] 1 at first, 2 when it is called again after it raised, and so on
      def attempt
        @call.attempt
      end

      def retrying?
        attempt > 1
      end

      # @return [Boolean] with virtual partitions: whether the partition is consumed in order for now, after a failure
      def collapsed?
        @call.collapsed?
      end

      # A consumer that has marked messages may return early then: what it has not marked is done by the next member.
      # @return [Boolean] whether the partition has gone, or is about to go, to another member: work that was not marked
      #   as consumed will be done there again
      def revoked?
        @call.revoked?
      end

      # A consumer that has marked messages may return early then: what it has not marked is done after the next start.
      # @return [Boolean] whether the process is about to stop
      def stopping?
        @call.stopping?
      end

      # This message and all before it are done; committed within `config.commit_interval`. Does not block.
      # @param message [Message] of this partition
      # @param metadata [String, nil] kept beside the offset by the broker
      # @return [Boolean] false when the partition is no longer ours
      # @raise [Guildhall::ArgumentError] for a message of another partition, and for metadata that is not a String
      def mark_as_consumed(message, metadata = nil)
        @call.mark(message, metadata)
      end

      # Like {#mark_as_consumed}, but commits at once and blocks for the broker's answer; in a transaction, with that.
      # @return [Boolean] false when the partition is no longer ours
      def mark_as_consumed!(message, metadata = nil)
        @call.mark(message, metadata) && @call.commit
      end

      # @param offset [Integer] of the last message that is done
      # @return [Boolean] false when the partition is no longer ours
      def mark_offset(offset, metadata = nil)
        @call.mark_offset(offset, metadata)
      end

      # Commits what was marked; blocks for the broker's answer.
      # @return [Boolean] false when the partition is no longer ours
      def commit_offsets!
        @call.commit
      end

      # Only messages that are marked as consumed are done when `consume` returns; the others are delivered again: at once when
      # some were marked, else after a pause. Does not end `consume` by itself, and does not count as an attempt.
      def redeliver_unmarked
        @call.redeliver_unmarked
      end

      # What the block produces (`produce_async` and the others, `pipe_to`, {#producer}) and marks as consumed is committed together, or
      # not at all: readers of what is produced see each message's results exactly once. The block has to end; if it raises, the
      # transaction is aborted, and the partition's rules for retries hold. Blocks for the brokers' answers. Needs
      # `transactional` in the route. One within another is part of that one.
      # @return [Object] what the block returns
      # @raise [TransactionError] when it could not be committed, for a reason that lies not with a message: let it pass
      # @raise [TransactionExitError] when the block is left by return, break or throw
      # @raise [Guildhall::ArgumentError] where the route does not say `transactional`
      def transaction(&)
        @call.transaction(&)
      end

      # Runs the block while no other virtual partition of this partition is in such a block.
      # @return [Object] what the block returns
      def synchronize(&)
        @call.synchronize(&)
      end
    end
  end
end
