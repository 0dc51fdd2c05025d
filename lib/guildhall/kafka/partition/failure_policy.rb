# frozen_string_literal: true

require "guildhall/error_boundary"
require_relative "../errors"

module Guildhall
  module Kafka
    class Partition
      # Decides what follows when a consumer has raised, from what is known about that call and from what has happened before. It needs no
      # thread, no broker and no clock: the same failure and the same history give the same decision. In order, virtual and by key alike.
      # @api private
      class FailurePolicy
        # A call of `consume` that has raised.
        FailedCall = Data.define(
          :error,
          :at, # generation and offset of the first message that is not done
          :passing, # whether the error says nothing about the messages, see {Attempts}
          :last_offset, # of the last message that `consume` was called with
          :last_read, # the offset of the last message that the consumer has looked at; nil: it has looked at none
          :at_hand, # the offset of the message that the consumer was working on; nil: that is not known
          :together, # whether several consumers have worked on these messages at once
          :unmarked # whether `at` is a message of an earlier batch, which the consumer may still hold in a buffer
        ) do
          def initialize(last_offset: nil, last_read: nil, at_hand: nil, passing: false, together: false, unmarked: false, **) = super

          def first_offset = at.last

          # Only one message can be the cause if the consumer has looked at no other that is not done.
          def alone? = !together && !unmarked && (last_read == first_offset || last_offset == first_offset)

          # What the consumer has not looked at cannot be the cause.
          # @return [Array(Integer, Boolean)] the offset of the last message that can be it; and whether that one is suspected
          def suspect
            offset = at_hand || [last_read, last_offset].compact.min
            offset = last_offset if offset < first_offset # it was marked, whatever has failed then
            [offset, offset == at_hand || offset < last_offset]
          end
        end

        # The search for the message that fails, once the retries of its batch are spent. If a message is suspected (the one that the
        # consumer had at hand when it raised, or the one that it looked at last), those before it are consumed, and then that one alone. If
        # the suspicion was wrong, or there is none, what is left is halved, and each half is consumed in order, until a single message
        # fails: 9 calls for 500 messages.
        Search = Data.define(
          :suspects_end, # the offset behind the last message that can be the cause; nil: nothing is known of what is left
          :suspected, # whether the last of these is suspected
          :misled # whether a message was suspected before: a consumer that looks ahead would mislead again
        ) do
          def initialize(suspects_end: nil, suspected: false, misled: false) = super

          # Some messages have failed together.
          # @param last_offset [Integer] of the last of them that can be the cause
          def failed(last_offset, suspected: false)
            Search.new(suspects_end: last_offset + 1, suspected: suspected && !misled, misled: misled || suspected)
          end

          # @param next_offset [Integer] everything before it is done
          def passed(next_offset) = suspects_end && next_offset >= suspects_end ? Search.new : self

          # @param offsets [Array<Integer>] of the messages that are left, in order
          # @return [Integer] how many of them to consume next
          def size_of_next(offsets)
            return offsets.size unless suspects_end

            suspects = offsets.bsearch_index { |offset| offset >= suspects_end } || offsets.size
            [suspected ? suspects - 1 : suspects / 2, 1].max
          end
        end

        # What has happened to the first message that is not done.
        History = Data.define(
          :at, # its generation and offset; nil: nothing has failed
          :failures, # how often it has failed, alone or with others
          :failures_alone, # how often it has failed alone
          :uncounted, # calls since the last of these that said nothing about it
          :search # {Search}; nil: the retries of its batch are not spent
        ) do
          def initialize(at: nil, failures: 0, failures_alone: 0, uncounted: 0, search: nil) = super

          # @return [Integer] the number of the next call with it, from 1
          def attempt = failures + 1

          # Attempts belong to one message: when another one is the first that is not done, they begin again.
          def moved_to(at) = at == self.at ? self : History.new(at:, search: at && search&.passed(at.last))

          # (see Search#passed)
          def passed(next_offset) = search ? with(search: search.passed(next_offset)) : self

          def counted(alone) = with(failures: failures + 1, failures_alone: failures_alone + (alone ? 1 : 0), uncounted: 0)
          def not_counted = with(uncounted: uncounted + 1)
        end

        # All messages that are not done are consumed again, after a pause. It depends on the failures in a row.
        Retry = Data.define(:failures)
        # The strategy has raised: else as Retry.
        Undecided = Data.define(:error, :failures)
        # The message that fails is looked for: as many messages as {Search} says are consumed next.
        Narrow = Data.define
        # The first message that is not done, or all, go to the dead letters, or are skipped: they count as done without having been sent.
        # The attempts: how often they have failed.
        DeadLetter = Data.define(:all, :skip, :attempts)
        # Everything from an offset on is read and consumed again, after a pause as with Retry. Spent: the route allows no more attempts.
        Rewind = Data.define(:offset, :failures, :spent)

        # What a strategy may answer.
        ANSWERS = %i[dispatch skip retry].freeze
        # Nothing has failed.
        NOTHING = History.new

        def initialize(topic)
          @topic = topic
          @queue = topic.dead_letter_queue
        end

        # Counts a call, before {#decide} is asked about it.
        def note(call, history)
          history = history.moved_to(call.at)
          history = history.with(search: nil) if call.unmarked
          call.passing ? history.not_counted : history.counted(call.alone?)
        end

        # Asks the strategy of the dead letter queue, if there is one.
        # @param history [History] in which this call was noted
        # @return [Array(Object, History)] a decision, one of those above; and what is to be given the next time
        def decide(call, history)
          return [rewind(call, history), history] if call.unmarked
          return [Retry.new(history.uncounted), history] if call.passing

          failures = call.alone? ? history.failures_alone : history.failures
          case answer = answer(call, history, failures)
          when :retry then [Retry.new(failures), history]
          when :narrow then [Narrow.new, search(call, history)]
          when Undecided then [answer, history]
          else [DeadLetter.new(all: answer == :all, skip: answer == :skip, attempts: failures), history]
          end
        end

        # Messages are to be consumed again for a reason that says nothing about them: a consumer has returned without progress, say.
        def postponed(at, history)
          history = history.moved_to(at).not_counted
          [Retry.new(history.uncounted), history]
        end

        private

        # Do not search: the consumer buffers messages, so one that fails alone may just be the one that has filled the buffer.
        def rewind(call, history)
          return Rewind.new(call.first_offset, history.uncounted, false) if call.passing

          Rewind.new(call.first_offset, history.failures, !@queue.nil? && history.failures > @queue.max_retries)
        end

        def search(call, history)
          offset, suspected = call.suspect
          history.with(search: (history.search || Search.new).failed(offset, suspected:).passed(call.first_offset))
        end

        # @return [Symbol, Undecided] :retry, :narrow, :all, or, of one message, :dispatch or :skip
        def answer(call, history, failures)
          return :retry unless @queue
          return :narrow if history.search && !call.alone?

          answer = @queue.strategy.respond_to?(:call) ? ask(call.error, failures) : count(call.error, failures)
          return answer if answer == :retry || answer.is_a?(Undecided)
          return :all if @queue.strategy == :all

          call.alone? ? answer : :narrow
        end

        def count(error, failures) = @topic.non_retryable?(error) || failures > @queue.max_retries ? :dispatch : :retry

        def ask(error, failures)
          raised = nil
          answer = ErrorBoundary.contain(->(raises) { raised = raises }) { @queue.strategy.call([error], failures) }
          return Undecided.new(raised, failures) if raised
          return answer if ANSWERS.include?(answer)

          Undecided.new(StrategyError.new("the strategy of the dead letter queue has to answer :dispatch, :skip or :retry, not " \
                                          "#{answer.inspect}"), failures)
        end
      end
    end
  end
end
