# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "../messages/batch"
require_relative "reports"
require_relative "parked_keys"

module Guildhall
  module Kafka
    class Partition
      # Tries messages of parked keys again, one after the other, beside the partition's batches; and carries out what becomes of a
      # message that failed. A runner runs it: one message each time.
      # @api private
      class KeyRetries
        attr_reader :keys

        # @param dead_letters [DeadLetters, nil] the partition's
        def initialize(partition, consumers, dead_letters)
          @partition = partition
          @inbox = partition.inbox
          @progress = partition.progress
          @consumers = consumers
          @reports = partition.reports
          @keys = ParkedKeys.new(partition) { @inbox.request_key_retry }
          @dead_letters = dead_letters
          @inbox.key_retries = self
        end

        # Called by a runner, when {Inbox} allows it.
        def run
          @keys.renew(@progress.generation)
          entry = @keys.take unless @inbox.leaving?
          try(entry) if entry
        ensure # a consumer or a subscriber may have ended this thread
          resume_partition
          @inbox.key_retry_ended(again: @keys.due?)
        end

        # Called when a batch is to be begun.
        # @return [Boolean] whether too much is parked: then the partition pauses
        def rest?(batch)
          return false unless full?
          return true unless @inbox.pause_for(batch, :keys)

          keys, messages = @keys.counts
          resume_partition # a key may have moved on just before the pause began: then nobody else ends it
          @reports.publish("key.limit_reached", keys:, messages:)
          true
        end

        # Messages of a key have failed in its share of a batch, or `consume` was left early.
        # @param indexes [Array<Integer>] of those that are not done
        def park(key, batch, indexes)
          entry = @keys.park(key, batch, indexes)
          publish("key.parked", entry, offset: entry.record.offset)
        ensure
          entry.attempts.guard { yield entry }
        end

        # @param entry [ParkedKeys::Entry] whose first message is not done
        # @param messages [Messages, nil] that `consume` was called with; nil: it was not called
        def failed(entry, error, messages)
          load = ForwardingError.load_of(error)
          return load.on_settled { @keys.due(entry) } if load
          return entry.attempts.postpone(error) unless messages # there is no consumer: that says nothing about the message

          case (decision = entry.attempts.failed(error, messages))
          when FailurePolicy::Narrow then @keys.due(entry) # it is given alone in any case
          when FailurePolicy::DeadLetter then dispatch(entry, decision, error)
          end
        end

        private

        def full? = @keys.full? || (@keys.counts.first.positive? && !@progress.fit?)

        def resume_partition
          @inbox.resume(:keys) unless full?
        end

        def void?(entry) = @partition.void?(entry.generation)

        def try(entry)
          call, messages = ErrorBoundary.contain(->(error) { raised(entry, error, nil) }) { prepare(entry) }
          consume(entry, call, messages) if messages
        end

        # @return [Array(ConsumerCall, Messages), nil] nil: `consume` is not called now
        def prepare(entry)
          call = @consumers.at(:key_retries) # its `initialized` may seek or pause
          return if void?(entry)
          return @keys.due(entry) && nil if @inbox.suspended?

          messages = messages(entry, @keys.held(entry).first, call)
          return [call, messages] unless @dead_letters&.dispatch_undecodable? && messages.undecodable.any?

          entry.attempts.guard { send_on(entry, messages, 0) { |message| message.failure.exception } }
          nil
        end

        def consume(entry, call, messages)
          began = Clock.now
          call.consume(messages, entry.attempts.number) do |result|
            next raised(entry, result.error, messages) if result.error

            @progress.complete_each(entry.generation) { messages.next_steps } if result.whole
            entry.attempts.guard { advance(entry) }
            @reports.consumed(messages, began) if result.whole
          end
        end

        def raised(entry, error, messages)
          @reports.consume_failed(error, messages, entry.attempts.number)
        ensure
          entry.attempts.guard { advance(entry) { failed(entry, error, messages) } }
        end

        def dispatch(entry, decision, error)
          held = @keys.held(entry)
          failing = (decision.all ? held : held.first(1)).map { |one| messages(entry, one).first }
          send_on(entry, failing, decision.attempts, skip: decision.skip) { error }
        end

        # The key waits until they were sent, but no runner does.
        def send_on(entry, messages, attempts, skip: false, &error_of)
          @dead_letters.dispatch(messages, attempts, skip:, error_of:) do
            advance(entry)
          ensure
            resume_partition
          end
        end

        # @yield decides what follows if nothing of it is done; without a block it is tried again later
        def advance(entry)
          return if void?(entry)

          state = @keys.pass(entry) { |offset| @progress.done?(offset) }
          entry.attempts.consumed_up_to(entry.at) if %i[resumed moved].include?(state)
          case state
          when :resumed then publish("key.resumed", entry)
          when :moved then @keys.due(entry)
          when :unchanged then block_given? ? yield : entry.attempts.postpone
          end
        end

        def publish(name, entry, **payload) = @reports.publish(name, key: entry.name, **payload)

        # Its payload is decoded again: the batch that it came with is not kept.
        def messages(entry, held, call = nil)
          records = [held.record]
          Messages::Batch.new(records, @partition.decoding.begin(records, @partition, nil), @partition.topic,
            bytes: held.record.class.bytes(records), generation: entry.generation, end_offset: held.next_offset).messages([0], call)
        end
      end
    end
  end
end
