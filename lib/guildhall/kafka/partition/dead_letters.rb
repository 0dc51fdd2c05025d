# frozen_string_literal: true

require_relative "../dead_letter_queue/dispatcher"
require_relative "reports"
require_relative "dispatches"

module Guildhall
  module Kafka
    class Partition
      # Carries out what was decided: sends messages to the dead letters, or to a retry topic, with {Dispatches}. Any thread.
      # @api private
      class DeadLetters
        # One decision: the messages of it that are not settled yet.
        class Letters
          attr_reader :generation

          # @param messages [Array<Message>] of one batch
          def initialize(dispatcher, progress, messages, attempts, error_of, on_settled)
            @dispatcher = dispatcher
            @progress = progress
            @messages = messages
            @generation = messages.first.batch.generation
            @attempts = attempts
            @error_of = error_of
            @on_settled = on_settled
          end

          def first = @messages.first

          def target = @dispatcher.target(@error_of.call(first))

          # @return [Boolean] false: the route skips them all
          def sent? = @messages.any? { |message| @dispatcher.sends?(@error_of.call(message)) }

          def deliver(give_up)
            @dispatcher.dispatch(@messages.dup, @attempts, confirmed: method(:confirm), give_up:, &@error_of)
          end

          # The dispatcher has done that.
          def abandon = nil

          def settled
            @messages.dup.each { |message| confirm(message) }
          ensure
            @on_settled.call # one that could not be marked is consumed again
          end

          private

          def confirm(message)
            @messages.delete(message)
            @progress.mark_each(@generation) { [[message.offset, message.batch.offset_after(message.offset)]] }
          end
        end
        private_constant :Letters

        # @return [DeadLetters, nil] nil: the route has no dead letter queue
        def self.for(partition)
          new(partition) if partition.topic.dead_letter_queue
        end

        def initialize(partition)
          @progress = partition.progress
          @dispatcher = DeadLetterQueue::Dispatcher.new(partition.topic, partition.runtime)
          @dispatches = Dispatches.new(partition, "dead_letter_queue")
        end

        # @return [Boolean] whether payloads whose bytes cannot be decoded go there without having been consumed
        def dispatch_undecodable? = @dispatcher.dispatch_undecodable?

        # (see Dispatches#blocked)
        def blocked = @dispatches.blocked

        # @param messages [Enumerable<Message>] of one batch
        # @param attempts [Integer] how often each has failed
        # @param error_of [#call] takes a message, returns why it goes there
        # @param skip [Boolean] whether nothing is sent: they are done
        # @yield called once all of them are done, by this thread or another; not where a seek, or the partition's end, has made them void
        def dispatch(messages, attempts, error_of:, skip: false, &on_settled)
          letters = Letters.new(@dispatcher, @progress, messages.to_a.dup, attempts, error_of, on_settled)
          skip || !letters.sent? ? @dispatches.conclude(letters) : @dispatches.start(letters)
        end
      end
    end
  end
end
