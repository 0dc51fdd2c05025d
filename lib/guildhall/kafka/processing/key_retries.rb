# frozen_string_literal: true

require "forwardable"
require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "../messages/batch"
require_relative "assignment"
require_relative "consumer_call"
require_relative "dead_letters"
require_relative "parked_keys"

module Guildhall
  module Kafka
    module Processing
      # Tries messages of parked keys again, one after the other, beside the partition's batches; and decides what becomes of a
      # message that failed. A runner runs it: one message each time.
      class KeyRetries
        extend Forwardable

        def_delegators :@assignment, :partition, :offsets, :schedule, :application
        private :partition, :offsets, :schedule, :application

        # @return [ParkedKeys]
        attr_reader :keys
        # @return [ConsumerCall, nil] nil: none was needed yet
        attr_reader :call

        # @param assignment [Assignment]
        def initialize(assignment)
          @assignment = assignment
          @topic = partition.topic
          @keys = ParkedKeys.new(assignment) { schedule.call_aside }
          @dead_letters = DeadLetters.for(assignment)
        end

        # (see Recovery#blocked)
        def blocked = @dead_letters&.blocked

        # Called by a runner, when {Schedule} allows it.
        # @return [void]
        def run
          @keys.renew(offsets.generation)
          entry = @keys.take unless schedule.leaving?
          try(entry) if entry
          schedule.resume(:keys) unless full?
        ensure
          schedule.aside_ended(again: @keys.due?)
        end

        # @return [Boolean] whether the partition has to rest until a parked key has moved on
        def full? = @keys.full? || (@keys.counts.first.positive? && !offsets.fit?)

        # Messages of a key have failed in its share of a batch, or `consume` was left early.
        # @param key [Object]
        # @param batch [Messages::Batch]
        # @param indexes [Array<Integer>] of those that are not done
        # @yieldparam entry [ParkedKeys::Entry]
        # @return [void]
        def park(key, batch, indexes)
          entry = @keys.park(key, batch, indexes)
          publish("key.parked", entry, offset: entry.record.offset)
          decided(entry) { yield entry }
        end

        # @param entry [ParkedKeys::Entry] whose first message is not done
        # @param error [Exception]
        # @param alone [Boolean] whether no other message can be the cause
        # @return [void]
        def failed(entry, error, alone:)
          load = ForwardingError.load_of(error)
          return load.on_settled { @keys.due(entry) unless void?(entry.generation) } if load

          decision = entry.retries.failed(error, at: entry.at, alone:)
          case decision.action
          when :retry then rest(entry, decision.seconds)
          when :isolate then @keys.due(entry)
          else dispatch(entry, decision.action, error, alone)
          end
        end

        # It is tried again, for a reason that says nothing about the message.
        # @param entry [ParkedKeys::Entry]
        # @return [void]
        def postpone(entry) = rest(entry, entry.retries.postponed(entry.at).seconds)

        # @return [Boolean] whether a seek, or the partition's end, has made it void whether messages of a generation worked
        def void?(generation) = schedule.leaving? || generation != offsets.generation

        private

        def try(entry)
          batch = batch(entry, @keys.held(entry).first)
          messages = nil
          ErrorBoundary.contain(->(error) { raised(entry, error, messages) }) do
            @call ||= ConsumerCall.new(partition, offsets, shared: true) # its `initialized` may seek or pause
            next if void?(entry.generation)
            next @keys.due(entry) if schedule.held?

            messages = @call.messages(batch, [0])
            undecodable?(messages) ? dispatch_undecodable(entry, messages) : consume(entry, messages)
          end
        end

        def consume(entry, messages)
          began = Clock.now
          whole = @call.consume(messages, entry.attempt)
          offsets.complete_each(entry.generation) { messages.next_steps } if whole
          @assignment.consumed(messages, began) if whole
          go_on(entry)
        end

        def raised(entry, error, messages)
          @assignment.consume_failed(error, messages, entry.attempt)
          return if void?(entry.generation)

          decided(entry) { pass(entry) == :unchanged ? failed(entry, error, alone: true) : go_on(entry) }
        end

        # The strategy has raised: without a pause that would happen again at once.
        def decided(entry, &)
          undecided = lambda do |failure|
            @assignment.error(failure, "dead_letter_queue")
            rest(entry, entry.retries.undecided(entry.at).seconds)
          end
          ErrorBoundary.contain(undecided, &)
        end

        def undecodable?(messages) = @dead_letters&.dispatch_undecodable? && messages.undecodable.any?

        def dispatch_undecodable(entry, messages)
          decided(entry) { send_on(entry, messages, 0) { |message| message.failure.exception } }
        end

        def dispatch(entry, action, error, alone)
          held = @keys.held(entry)
          failing = (action == :dispatch_all ? held : held.first(1)).map { |one| batch(entry, one).messages.first }
          attempts = alone ? entry.retries.failures_alone : entry.retries.failures
          send_on(entry, failing, attempts, skip: action == :skip) { error }
        end

        # The key waits until they were sent, but no runner does.
        def send_on(entry, messages, attempts, skip: false, &error_of)
          @dead_letters.dispatch(messages, attempts, skip:, error_of:) do
            go_on(entry)
          ensure
            schedule.resume(:keys) unless full?
          end
        end

        # @return [Symbol] as {ParkedKeys#pass}
        def pass(entry)
          state = @keys.pass(entry) { |offset| offsets.done?(offset) }
          publish("key.resumed", entry) if state == :resumed
          entry.retries.progress(state == :moved ? entry.at : nil) if %i[resumed moved].include?(state)
          state
        end

        def go_on(entry)
          return if void?(entry.generation)

          state = pass(entry)
          state == :moved ? @keys.due(entry) : (postpone(entry) if state == :unchanged)
        end

        def rest(entry, seconds)
          @assignment.publish("consumer.retrying", offset: entry.record.offset, attempt: entry.attempt - 1, seconds:)
          @keys.wait(entry, seconds)
        end

        def publish(name, entry, **payload) = @assignment.publish(name, key: entry.name, **payload)

        # Its payload is decoded again: the batch that it came with is not kept.
        def batch(entry, held)
          records = [held.record]
          Messages::Batch.new(records, partition.decoding.begin(records, partition, nil), @topic,
            bytes: held.record.class.bytes(records), generation: entry.generation, end_offset: held.next_offset)
        end
      end
    end
  end
end
