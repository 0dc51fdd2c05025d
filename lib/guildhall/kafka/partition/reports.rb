# frozen_string_literal: true

require "guildhall/clock"
require_relative "error_kind"

module Guildhall
  module Kafka
    class Partition
      # Reports what happens to a partition: events and errors, with its name and its consumer group.
      # @api private
      class Reports
        def initialize(partition)
          @partition = partition
          @runtime = partition.runtime
        end

        def publish(name, **payload) = @runtime.publish(name, group: @partition.topic.group, **@partition.place, **payload)

        # Once for a batch, or for what was left of it, and not for each call of `consume`: by {Run} where messages are done after a call,
        # in order, or after all calls that a batch is dealt out in; by {KeyRetries} for each message of a parked key that is done.
        # @param began [Float] when, of the {Clock}
        # @param size [Integer] how many of them are done
        # @param again [Boolean] whether the batch is consumed again, for the others: what is counted by batches is counted then
        def consumed(messages, began, size = messages.size, again: false)
          return unless @runtime.listening?("consumer.consumed")

          read, dropped, bytes = again ? [size, 0, 0] : [messages.read, messages.dropped, messages.bytes]
          publish("consumer.consumed", size:, read:, dropped:, bytes:,
            waited: began - messages.batch.read_at, seconds: Clock.now - began, last_offset: messages.last_offset)
        end

        # @param messages [Messages, nil] that `consume` was called with; nil: it was not called
        # @param isolating [Boolean] whether the message that fails is being looked for, which takes more attempts than the route allows
        def consume_failed(error, messages, attempt, isolating: false)
          return if ForwardingError.load_of(error) # no failure of the consumer: {Dispatches} reports what it sends

          outage = !@partition.topic.non_retryable?(error) && ErrorKind.of(error, @partition.topic) == :outage
          error(error, "consumer.consume", attempt:, offset: messages&.failing_offset(error),
            first_offset: messages&.first_offset, last_offset: messages&.last_offset, **(isolating ? {isolating:} : {}),
            **(outage ? {outage:} : {}))
        end

        def error(error, type, **payload)
          @runtime.error(error, type, group: @partition.topic.group, **@partition.place, **payload)
        end
      end
    end
  end
end
