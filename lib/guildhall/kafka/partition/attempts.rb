# frozen_string_literal: true

require_relative "backoff"
require_relative "failure_policy"
require_relative "passing_errors"

module Guildhall
  module Kafka
    class Partition
      # The attempts at the first message that is not done, of a partition or of one parked key: which message that is, what has happened
      # to it, and the pauses between its attempts. {FailurePolicy} decides. Used by one runner at a time; {#number} by any thread.
      class Attempts
        # @return [Array(Integer, Integer), nil] generation and offset of that message; nil: none was looked at
        attr_reader :at

        def initialize(partition)
          topic = partition.topic
          runtime = partition.runtime
          @reports = partition.reports
          @policy = FailurePolicy.new(topic)
          @passing = PassingErrors.new(topic, partition.to_s, runtime.contention)
          @backoff = Backoff.new(runtime.config, topic.retries)
          @history = FailurePolicy::NOTHING
          @at = nil
        end

        # @return [Integer] of the next call of `consume`, from 1
        def number = @history.moved_to(@at).attempt

        def at=(at)
          @at = at
          @history = @history.passed(at.last) if at
        end

        # Messages were consumed.
        # @param at [Array(Integer, Integer), nil] as {#at}; nil: all are done
        def consumed_up_to(at)
          @passing.consumed_up_to(at) if at.nil? || at != @at
          self.at = at
        end

        # A call of `consume` has raised.
        # @param messages [Messages] that it was called with
        # @param how [Hash{Symbol=>Boolean}] `together`, `unmarked`: see {FailurePolicy::FailedCall}
        # @return [Object] what {FailurePolicy} decides
        def failed(error, messages, **how)
          call = FailurePolicy::FailedCall.new(error:, at: @at, passing: @passing.note(error, @at), last_offset: messages.last_offset,
            last_read: messages.last_read, at_hand: messages.failing_offset(error), **how)
          @history = @policy.note(call, @history) # before the strategy is asked, which may end this thread
          decision, @history = @policy.decide(call, @history)
          decision
        end

        # There is another attempt, for a reason that says nothing about the message.
        # @return [Integer] how often in a row
        def postponed
          decision, @history = @policy.postponed(@at, @history)
          decision.failures
        end

        # There was no decision, or it could not be carried out. Without a pause that would happen again at once.
        # @param type [String] of the error that is reported
        # @yield as for {#rest}
        def undecided(error, failures = [number - 1, 1].max, type: "partition", &)
          @reports.error(error, type)
        ensure
          rest(failures, &)
        end

        # @param failures [Integer] in a row
        # @yieldparam seconds [Float] until the next attempt; called first, for a subscriber may end this thread
        # @return [nil]
        def rest(failures)
          seconds = @backoff.seconds(failures)
          event = {offset: @at&.last, attempt: number - 1, seconds:}
          yield seconds
          @reports.publish("consumer.retrying", **event)
          nil
        end

        # @return [Boolean] whether the message that fails is looked for
        def searching? = !@history.search.nil?

        # @param offsets [Array<Integer>] of the messages that are left, in order
        # @return [Integer] how many of them to consume next: all, unless the one that fails is looked for
        def size_of_next(offsets) = searching? ? @history.search.size_of_next(offsets) : offsets.size

        def stop_search
          @history = @history.with(search: nil)
        end
      end
    end
  end
end
