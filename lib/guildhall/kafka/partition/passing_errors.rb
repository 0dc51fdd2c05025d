# frozen_string_literal: true

require_relative "../runtime/contention"
require_relative "error_kind"

module Guildhall
  module Kafka
    class Partition
      # Tells errors that will pass, and say nothing about a message (an outage, an overloaded database), from those that a message causes.
      # For one partition, or one parked key; used by one runner at a time.
      class PassingErrors
        # @param partition [String] whose messages
        # @param contention [Contention] the application's
        def initialize(topic, partition, contention)
          @topic = topic
          @partition = partition
          @contention = contention
          @suspects = [] # messages that have failed with contention, and were not consumed since
        end

        # Notes an error with which `consume` has failed.
        # @param at [Array(Integer, Integer)] generation and offset of the first message that is not done
        # @return [Boolean] whether it passes
        def note(error, at)
          return false if @topic.non_retryable?(error)

          case ErrorKind.of(error, @topic)
          when :outage then true
          when :contention then contended(at) < @topic.retries.contention_limit
          else false
          end
        end

        # Messages were consumed, the first of those that are left excepted.
        # @param at [Array(Integer, Integer), nil] that one; nil: there is none
        def consumed_up_to(at)
          @contention.consumed(@topic)
          over = @suspects - [message(at)]
          return if over.empty?

          @contention.over(over)
          @suspects -= over
        end

        private

        # @return [Integer] as {Runtime::Contention#note}
        def contended(at)
          @suspects |= [message(at)]
          @suspects.shift if @suspects.size > Runtime::Contention::MAX_SUSPECTS + 1 # more say no more
          @contention.note(message(at), @topic)
        end

        # The offset alone: the same message may be read again.
        def message(at) = [@topic.group, @partition, at&.last]
      end
    end
  end
end
