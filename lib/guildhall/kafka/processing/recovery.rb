# frozen_string_literal: true

require "forwardable"
require "guildhall/error_boundary"
require_relative "assignment"
require_relative "dead_letters"
require_relative "isolation"
require_relative "retry_policy"

module Guildhall
  module Kafka
    module Processing
      # What becomes of a batch that was not finished: a pause and another attempt, isolation of the message that fails, or
      # the dead letters. Used by one runner at a time.
      class Recovery
        extend Forwardable

        def_delegators :@assignment, :partition, :offsets, :schedule, :application
        private :partition, :offsets, :schedule, :application

        # @param assignment [Assignment]
        def initialize(assignment)
          @assignment = assignment
          @topic = partition.topic
          @retries = RetryPolicy.new(@topic, application.config, partition.to_s, application.contention)
          @isolation = nil # while the message that fails is looked for
          @dead_letters = DeadLetters.for(assignment)
          @dispatching = false
          @at = nil
        end

        # @return [Dispatches::Blocked, nil] nil: none of its dispatches fails
        def blocked = @dead_letters&.blocked

        # @return [Boolean] whether the message that fails is being looked for
        def isolating? = !@isolation.nil?

        # @return [Integer] 1 at first
        def attempt = @retries.attempt(@at)

        # A batch is about to be consumed: what could not be decoded before is decoded again, and what never can be goes to
        # the dead letters, where the route says so.
        # @param batch [Messages::Batch]
        # @param again [Boolean] whether it was consumed before
        # @return [Array<Integer>, :dispatching, nil] the indexes of the messages to consume; :dispatching: the batch waits until messages
        #   have been sent to the dead letters; nil: a seek has made it void
        def prepare(batch, again:)
          @dispatching = false # a seek may have made void what was to be sent
          again ? batch.decode_again : @isolation = nil
          pending = look(batch) or return
          return pending if pending.empty?

          @isolation&.passed(offset(batch, pending))
          return pending unless @dead_letters&.dispatch_undecodable?

          dispatch_undecodable(batch, pending)
          @dispatching ? :dispatching : look(batch) # in this order: they may have been sent in between
        end

        # May block until payloads are decoded.
        # @param batch [Messages::Batch]
        # @return [Integer, nil] the index of the first message whose payload an outage keeps from being decoded; nil: there is none, or it
        #   is the first of all that are not done
        def outage_after_others(batch)
          first, *others = offsets.pending(batch)
          others.find { |index| outage?(batch.results[index]) } if others.any? && !outage?(batch.results[first])
        end

        # @param batch [Messages::Batch]
        # @param pending [Array<Integer>] indexes of its messages
        # @return [Array<Integer>] those that are to be consumed next: all, unless the one that fails is looked for
        def narrow(batch, pending)
          return pending unless @isolation

          pending.first(@isolation.take(pending.map { |index| batch.records[index].offset }))
        end

        # `consume` has returned.
        # @param batch [Messages::Batch]
        # @param first [Integer, nil] the index with which the call of `consume` began; nil: there is progress
        # @return [Boolean] whether the batch is done; false: the rest is consumed next
        def returned(batch, first = nil)
          pending = look_after(batch)
          return done if pending.nil? || pending.empty?
          return go_back(batch) { @retries.postponed(@at) } if offsets.unmarked_before(batch)

          @isolation&.passed(offset(batch, pending))
          rest(@retries.postponed(@at), batch) if pending.first == first && !schedule.leaving?
          false
        end

        # @param error [Exception] what a consumer raised
        # @param batch [Messages::Batch]
        # @param messages [Messages, nil] what `consume` was called with; nil: it was not called
        # @param together [Boolean] whether they were consumed by several consumers at once
        # @return [Boolean] whether the batch is done
        def failed(error, batch, messages, together: false)
          decided = false
          ErrorBoundary.contain(->(failure) { undecided(failure, batch) }) { decided = decide(error, batch, messages, together) }
          decided
        end

        # It is not consumed now, for a reason that says nothing about its messages: after a pause it is next again.
        # @param batch [Messages::Batch]
        # @return [false]
        def postpone(batch)
          rest(@retries.postponed(@at), batch)
          false
        end

        # A batch is done, and what its consumer has sent on has not arrived: the next one waits, or it would arrive first.
        # @param batch [Messages::Batch]
        # @return [void]
        def wait_for_left_over(batch)
          return unless partition.outbox.left_over?

          rest_until_sent(:forwarding, batch) { |sent| partition.outbox.on_sent(&sent) }
        end

        # The batch is finished, or given up.
        # @return [true]
        def done
          @isolation = @at = nil
          true
        end

        private

        # @return [Array<Integer>, nil] the indexes of what is not done
        def look(batch)
          pending = offsets.pending(batch)
          @at = [batch.generation, offset(batch, pending)] if pending&.any?
          pending
        end

        # After a call of `consume`, which may have done the first of them.
        def look_after(batch)
          before = @at
          pending = look(batch) or return
          if pending.empty? then @retries.progress(nil)
          elsif @at != before then @retries.progress(@at)
          end
          pending
        end

        def outage?(result) = result.is_a?(Failure) && ErrorKind.of(result.exception, @topic) == :outage

        def offset(batch, pending)
          batch.records[pending.first].offset
        end

        def decide(error, batch, messages, together)
          pending = look_after(batch)
          return done if pending.nil? || pending.empty?
          return postpone(batch) unless messages
          return go_back(batch) { failed_with_others(error) } if offsets.unmarked_before(batch)

          load = ForwardingError.load_of(error)
          return wait_for(load, batch) if load

          alone = !together && alone?(messages, offset(batch, pending))
          decision = @retries.failed(error, at: @at, alone:, isolating: !@isolation.nil?)
          follow(decision, error, batch, messages, pending, alone)
        end

        # The strategy has raised: without a pause that would happen again at once.
        def undecided(failure, batch)
          @assignment.error(failure, "dead_letter_queue")
          rest(@retries.undecided(@at), batch)
        end

        # Only one message can be the cause if the consumer has looked at no other that is not done.
        def alone?(messages, offset)
          messages.last_read == offset || messages.last_offset == offset
        end

        # @return [false]
        def follow(decision, error, batch, messages, pending, alone)
          case decision.action
          when :retry then rest(decision, batch)
          when :isolate then isolate(error, messages, offset(batch, pending))
          else dispatch_failing(decision.action, error, batch, pending, alone)
          end
          false
        end

        # With manual offset management the consumer may still hold messages of earlier batches, in a buffer for instance. All
        # messages that are not marked are delivered again.
        # @yieldreturn [RetryPolicy::Decision]
        def go_back(batch)
          position = offsets.unmarked_before(batch)
          @at = [batch.generation, position]
          @isolation = nil
          rest(yield, batch)
          partition.go_back(position)
          false
        end

        # Which of them fails is not to be found out: one that is given alone may only be the one that completes the buffer.
        def failed_with_others(error)
          decision = @retries.failed_with_others(error, at: @at)
          if @dead_letters && @retries.failures > @topic.dead_letter_queue.max_retries
            @assignment.error(UnmarkedError.new("messages from #{partition}@#{@at.last} on are not marked as consumed: nothing goes to " \
                                                "the dead letters, for any of them may have failed"), "dead_letter_queue")
          end
          decision
        end

        # What was not looked at cannot be the cause.
        def isolate(error, messages, first)
          @isolation ||= Isolation.new
          last = messages.last_offset
          at_hand = messages.failing_offset(error)
          suspect = at_hand || [messages.last_read, last].compact.min
          suspect = last if suspect < first # it was marked, whatever has failed then
          @isolation.failed(suspect, suspected: suspect == at_hand || suspect < last)
          @isolation.passed(first)
        end

        # @return [false] what is left is consumed once they were sent
        def dispatch_failing(action, error, batch, pending, alone)
          failing = batch.messages(action == :dispatch_all ? pending : pending.first(1))
          dispatch(failing, alone ? @retries.failures_alone : @retries.failures, skip: action == :skip) { error }
          @at = nil
          false
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
        # @return [false]
        def wait_for(load, batch)
          rest_until_sent(:forwarding, batch) { |sent| load.on_settled(&sent) }
          false
        end

        # The partition rests until messages were sent, but no runner waits for that.
        # @yieldparam sent [#call] to be called then
        def rest_until_sent(reason, batch)
          schedule.pause(reason)
          yield -> { schedule.resume(reason) }
          schedule.resume(reason) if batch.generation != offsets.generation # a seek that has just made it void came before the pause
        end

        def rest(decision, batch)
          @assignment.publish("consumer.retrying",
            offset: @at&.last || batch.first_offset, attempt: @retries.failures, seconds: decision.seconds)
          schedule.pause(:backoff, decision.seconds)
        end
      end
    end
  end
end
