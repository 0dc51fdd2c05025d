# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"
require "guildhall/redaction"
require_relative "../logging"
require_relative "../runtime/contention"
require_relative "backoff"
require_relative "error_kind"
require_relative "failure_policy"

module Guildhall
  module Kafka
    class Partition
      # The attempts at the first message that is not done, of a partition or of one parked key: which message that is, what has happened
      # to it, and the pauses between its attempts. {FailurePolicy} decides. Used by one runner at a time; {#number} by any thread.
      # @api private
      class Attempts
        # The error of the last call that has raised. kind: :outage or :contention (it says nothing about the message, and is repeated for
        # as long as it lasts), :counted, or :not_called (what comes before `consume` has raised); failures: in a row, of that kind;
        # offset: of the message that was worked on, as far as that is known; first, time: when it has begun to raise for the same first
        # message, and when it has last, of the {Clock}; at: as {#at} was then.
        LastError = Data.define(:error_class, :message, :place, :kind, :failures, :offset, :first, :time, :at)

        # @return [Array(Integer, Integer), nil] generation and offset of that message; nil: none was looked at
        attr_reader :at
        # @return [LastError, nil] nil: none has raised
        attr_reader :last_error

        # @yieldparam seconds [Float] for which the partition, or the key, is to rest
        def initialize(partition, &pause)
          @topic = partition.topic
          @partition = partition.to_s
          @reports = partition.reports
          @policy = FailurePolicy.new(@topic)
          @backoff = Backoff.new(partition.runtime.config, @topic.retries)
          @contention = partition.runtime.contention
          @show_messages = partition.runtime.config.messages_of_errors?
          @pause = pause
          @history = FailurePolicy::NOTHING
          @at = @last_error = nil
          @suspects = [] # messages that have failed with contention, and were not consumed since
        end

        # @return [Integer] of the next call of `consume`, from 1
        def number = @history.moved_to(@at).attempt

        def at=(at)
          @at = at
          @history = @history.passed(at.last) if at
        end

        # @return [Boolean] whether the last error is one of the message that is the first not done now
        def failing?
          at = @at
          !at.nil? && @last_error&.at == at
        end

        # @return [Array(Integer, Integer | nil), nil] the offsets between which the message that fails is looked for; nil: it is not
        def isolating
          search = @history.search
          at = @at
          [at.last, search.suspects_end&.pred] if search && at
        end

        # Messages were consumed.
        # @param at [Array(Integer, Integer), nil] as {#at}; nil: all are done
        def consumed_up_to(at)
          if at.nil? || at != @at
            @contention.consumed(@topic)
            over = @suspects - [message(at)]
            @contention.over(over) if over.any?
            @suspects -= over
          end
          self.at = at
        end

        # A call of `consume` has raised. Where it is repeated with all that is left, it rests until then.
        # @param messages [Messages] that it was called with
        # @param how [Hash{Symbol=>Boolean}] `together`, `unmarked`: see {FailurePolicy::FailedCall}
        # @return [FailurePolicy::Narrow, FailurePolicy::DeadLetter, FailurePolicy::Rewind, nil] what is to be done
        def failed(error, messages, **how)
          kind = kind(error)
          call = FailurePolicy::FailedCall.new(error:, at: @at, passing: kind != :counted, last_offset: messages.last_offset,
            last_read: messages.last_read, at_hand: messages.failing_offset(error), **how)
          @history = @policy.note(call, @history) # before the strategy is asked, which may end this thread
          note_error(error, kind, call.passing ? @history.uncounted : @history.failures, call.at_hand || call.first_offset)
          decision, @history = @policy.decide(call, @history)
          case decision
          when FailurePolicy::Retry then rest(decision.failures)
          when FailurePolicy::Undecided then undecided(decision.error, decision.failures, type: "strategy")
          else decision
          end
        end

        # There is another attempt after a pause, for a reason that says nothing about the message.
        # @param error [Exception, nil] what came before the call of `consume` has raised
        def postpone(error = nil)
          decision, @history = @policy.postponed(@at, @history)
          note_error(error, :not_called, decision.failures, @at&.last) if error
          rest(decision.failures)
        end

        # Decides, in the block, what follows. Without a decision, or where it cannot be carried out, there is another attempt after a
        # pause: else that would happen again at once.
        def guard(&) = ErrorBoundary.contain(->(error) { undecided(error, [number - 1, 1].max, type: "partition") }, &)

        # @param failures [Integer] in a row
        # @return [nil]
        def rest(failures)
          seconds = @backoff.seconds(failures)
          event = {offset: @at&.last, attempt: number - 1, seconds:}
          @pause.call(seconds) # first, for a subscriber may end this thread
          @reports.publish("consumer.retrying", **event)
          nil
        end

        # @return [Boolean] whether the message that fails is looked for
        def searching? = !@history.search.nil?

        # @param indexes [Array<Integer>] of the records that are left, in order
        # @return [Array<Integer>] of those to consume next: all, unless the one that fails is looked for
        def narrow(indexes, records)
          return indexes unless searching?

          indexes.first(@history.search.size_of_next(indexes.map { |index| records[index].offset }))
        end

        def stop_search
          @history = @history.with(search: nil)
        end

        private

        def undecided(error, failures, type:)
          @reports.error(error, type)
        ensure
          rest(failures)
        end

        # @return [Symbol] :outage or :contention for an error that says nothing about a message, and passes: see {LastError}
        def kind(error)
          return :counted if @topic.non_retryable?(error)

          case (kind = ErrorKind.of(error, @topic))
          when :outage then kind
          when :contention then contended(message(@at)) < @topic.retries.contention_limit ? kind : :counted
          else :counted
          end
        end

        # The exception itself is not kept: it may hold on to payloads.
        def note_error(error, kind, failures, offset)
          now = Clock.now
          first = failing? ? @last_error.first : now
          @last_error = LastError.new(error_class: error.class.name.to_s, message: Redaction.message(error, messages: @show_messages),
            place: Logging::ApplicationFrame.place(error), kind:, failures:, offset:, first:, time: now, at: @at)
        end

        # @return [Integer] as {Runtime::Contention#note}
        def contended(message)
          @suspects |= [message]
          @suspects.shift if @suspects.size > Runtime::Contention::MAX_SUSPECTS + 1 # more say no more
          @contention.note(message, @topic)
        end

        # The offset alone: the same message may be read again.
        def message(at) = [@topic.group, @partition, at&.last]
      end
    end
  end
end
