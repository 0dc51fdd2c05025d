# frozen_string_literal: true

require "forwardable"
require "guildhall/error_boundary"
require_relative "reports"
require_relative "dead_letters"
require_relative "backoff"
require_relative "failure_policy"
require_relative "passing_errors"

module Guildhall
  module Kafka
    class Partition
      # What becomes of a batch that was not finished: a pause and another attempt, isolation of the message that fails, or
      # the dead letters. Used by one runner at a time.
      class Recovery
        extend Forwardable

        def_delegators :@partition, :progress, :inbox, :application
        private :progress, :inbox, :application

        def initialize(partition)
          @partition = partition
          @reports = partition.reports
          @topic = partition.topic
          @policy = FailurePolicy.new(@topic)
          @history = FailurePolicy::NOTHING
          @passing = PassingErrors.new(@topic, partition.to_s, application.contention)
          @backoff = Backoff.new(application.config, @topic.retries)
          @dead_letters = DeadLetters.for(partition)
          @dispatching = false
          @at = nil # the first message that is not done: its generation and offset
        end

        # @return [Dispatches::Blocked, nil] nil: none of its dispatches fails
        def blocked = @dead_letters&.blocked

        # @return [Boolean] whether the message that fails is being looked for
        def isolating? = !@history.search.nil?

        # @return [Integer] 1 at first
        def attempt = @history.at == @at ? @history.attempt : 1

        # A batch is about to be consumed: what could not be decoded before is decoded again, and what never can be goes to
        # the dead letters, where the route says so.
        # @param again [Boolean] whether it was consumed before
        # @return [Array<Integer>, :dispatching, nil] the indexes of the messages to consume; :dispatching: the batch waits until messages
        #   have been sent to the dead letters; nil: a seek has made it void
        def prepare(batch, again:)
          @dispatching = false # a seek may have made void what was to be sent
          again ? batch.decode_again : @history = @history.with(search: nil)
          pending = look(batch) or return
          return pending if pending.empty?

          return pending unless @dead_letters&.dispatch_undecodable?

          dispatch_undecodable(batch, pending)
          @dispatching ? :dispatching : look(batch) # in this order: they may have been sent in between
        end

        # May block until payloads are decoded.
        # @return [Integer, nil] the index of the first message whose payload an outage keeps from being decoded; nil: there is none, or it
        #   is the first of all that are not done
        def outage_after_others(batch)
          first, *others = progress.pending(batch)
          others.find { |index| outage?(batch.results[index]) } if others.any? && !outage?(batch.results[first])
        end

        # @param pending [Array<Integer>] indexes of its messages
        # @return [Array<Integer>] those that are to be consumed next: all, unless the one that fails is looked for
        def narrow(batch, pending)
          return pending unless isolating?

          pending.first(@history.search.size_of_next(pending.map { |index| batch.records[index].offset }))
        end

        # `consume` has returned.
        # @param first [Integer, nil] the index with which the call of `consume` began; nil: there is progress
        # @return [Boolean] whether the batch is done; false: the rest is consumed next
        def returned(batch, first = nil)
          pending = look_after(batch)
          return done if pending.nil? || pending.empty?

          if (unmarked = progress.unmarked_before(batch))
            @at = [batch.generation, unmarked]
            go_back(unmarked, batch, postponed)
          elsif pending.first == first && !inbox.leaving?
            postpone(batch)
          end
          false
        end

        # @param error [Exception] what a consumer raised
        # @param messages [Messages, nil] what `consume` was called with; nil: it was not called
        # @param together [Boolean] whether they were consumed by several consumers at once
        # @return [Boolean] whether the batch is done
        def failed(error, batch, messages, together: false)
          decided = false
          ErrorBoundary.contain(->(failure) { undecided(failure, batch) }) { decided = decide(error, batch, messages, together) }
          decided
        end

        # It is not consumed now, for a reason that says nothing about its messages: after a pause it is next again.
        def postpone(batch)
          rest(postponed.failures, batch)
          false
        end

        # A batch is done, and what its consumer has sent on has not arrived: the next one waits, or it would arrive first.
        def wait_for_left_over(batch)
          return unless @partition.outbox.left_over?

          rest_until_sent(:forwarding, batch) { |sent| @partition.outbox.on_sent(&sent) }
        end

        # The batch is finished, or given up.
        def done
          @history = @history.with(search: nil)
          @at = nil
          true
        end

        private

        # @return [Array<Integer>, nil] the indexes of what is not done
        def look(batch)
          pending = progress.pending(batch)
          return pending if pending.nil? || pending.empty?

          @at = [batch.generation, batch.records[pending.first].offset]
          @history = @history.passed(@at.last)
          pending
        end

        # After a call of `consume`, which may have done the first of them.
        def look_after(batch)
          before = @at
          pending = look(batch) or return
          if pending.empty? then @passing.consumed_up_to(nil)
          elsif @at != before then @passing.consumed_up_to(@at)
          end
          pending
        end

        def outage?(result) = result.is_a?(Failure) && ErrorKind.of(result.exception, @topic) == :outage

        def postponed
          decision, @history = @policy.postponed(@at, @history)
          decision
        end

        def decide(error, batch, messages, together)
          pending = look_after(batch)
          return done if pending.nil? || pending.empty?
          return postpone(batch) unless messages

          unmarked = progress.unmarked_before(batch)
          load = ForwardingError.load_of(error)
          return wait_for(load, batch) if load && !unmarked

          @at = [batch.generation, unmarked] if unmarked
          call = FailurePolicy::FailedCall.new(error:, at: @at, together:, passing: @passing.include?(error, @at), unmarked: !unmarked.nil?,
            last_offset: messages.last_offset, last_read: messages.last_read, at_hand: messages.failing_offset(error))
          decision, @history = @policy.decide(call, @history)
          carry_out(decision, error, batch, pending)
        end

        def carry_out(decision, error, batch, pending)
          case decision
          when FailurePolicy::Retry then rest(decision.failures, batch)
          when FailurePolicy::DeadLetter then dispatch_failing(decision, error, batch, pending)
          when FailurePolicy::Undecided then undecided(decision.error, batch, decision.failures)
          when FailurePolicy::Rewind
            report_unmarked if decision.spent
            go_back(decision.offset, batch, decision)
          end
          false
        end

        # Without a pause that would happen again at once.
        def undecided(error, batch, failures = [@history.failures, 1].max)
          @reports.error(error, "dead_letter_queue")
          rest(failures, batch)
        end

        # With manual offset management the consumer may still hold messages of earlier batches, in a buffer for instance. All
        # messages that are not marked are delivered again.
        def go_back(offset, batch, decision)
          @history = @history.with(search: nil)
          rest(decision.failures, batch)
          @partition.go_back(offset)
          false
        end

        def report_unmarked
          @reports.error(UnmarkedError.new("messages from #{@partition}@#{@at.last} on are not marked as consumed: nothing goes to " \
                                           "the dead letters, for any of them may have failed"), "dead_letter_queue")
        end

        # What is left is consumed once they were sent.
        def dispatch_failing(decision, error, batch, pending)
          dispatch(batch.messages(decision.all ? pending : pending.first(1)), decision.attempts, skip: decision.skip) { error }
          @at = nil
        end

        def dispatch_undecodable(batch, pending)
          undecodable = batch.messages(pending).undecodable
          dispatch(undecodable, 0) { |message| message.failure.exception } if undecodable.any?
        end

        def dispatch(messages, attempts, skip: false, &error_of)
          @dispatching = true
          rest_until_sent(:dead_letters, messages.first.batch) do |sent|
            @dead_letters.dispatch(messages, attempts, skip:, error_of:) do
              @dispatching = false
              sent.call
            end
          end
        end

        # What a consumer sends on has not arrived yet: it is called again then.
        def wait_for(load, batch)
          rest_until_sent(:forwarding, batch) { |sent| load.on_settled(&sent) }
          false
        end

        # The partition rests until messages were sent, but no runner waits for that.
        # @yieldparam sent [#call] to be called then
        def rest_until_sent(reason, batch)
          inbox.pause(reason)
          yield -> { inbox.resume(reason) }
          inbox.resume(reason) if batch.generation != progress.generation # a seek that has just made it void came before the pause
        end

        # @param failures [Integer] in a row
        def rest(failures, batch)
          seconds = @backoff.seconds(failures)
          @reports.publish("consumer.retrying", offset: @at&.last || batch.first_offset, attempt: @history.failures, seconds:)
          inbox.pause(:backoff, seconds)
        end
      end
    end
  end
end
