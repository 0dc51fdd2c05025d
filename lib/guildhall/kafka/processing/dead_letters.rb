# frozen_string_literal: true

require "time"
require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "../dead_letter_queue/dispatcher"
require_relative "assignment"
require_relative "backoff"

module Guildhall
  module Kafka
    module Processing
      # Carries out what was decided: sends messages to the dead letters, or to a retry topic, and repeats that with growing pauses until
      # the broker has them. The consumer is not called meanwhile, and no runner waits. Of one partition; any thread.
      class DeadLetters
        # Seconds between two reminders in the log that a dispatch still fails.
        REMIND = 10..600
        # Seconds that a partition which is given up waits for a dispatch that has not failed yet.
        GRACE_SECONDS = 1
        # Seconds without the broker's confirmation, from which on a dispatch counts as blocked: librdkafka reports a missing topic only
        # after `topic.metadata.propagation.max.ms`.
        LATE_SECONDS = 5
        LATE = "no broker has confirmed the message for #{LATE_SECONDS} s: check that the topic exists, and that its brokers can be " \
               "reached".freeze
        private_constant :REMIND, :GRACE_SECONDS, :LATE_SECONDS, :LATE

        # A topic that cannot be written to.
        # @!attribute [r] to
        #   @return [String] the topic
        # @!attribute [r] reason
        #   @return [String] what the broker or librdkafka says
        # @!attribute [r] since
        #   @return [Time] of the first attempt that failed
        # @!attribute [r] attempt
        #   @return [Integer] how many have failed; 0: the first one waits for the broker
        Blocked = Data.define(:to, :reason, :since, :attempt) do
          # @return [String]
          def to_s
            "topic #{to} cannot be written: #{reason} (since #{since.iso8601}, attempt #{attempt})"
          end
        end

        # One decision: the messages of it that are not settled yet.
        Dispatch = Struct.new(:messages, :generation, :attempts, :error_of, :on_settled, :blocked, :remind_at, :remind_seconds,
          :give_up_at) do
          def failures = blocked ? blocked.attempt : 0
        end
        private_constant :Dispatch

        # @param assignment [Assignment]
        # @return [DeadLetters, nil] nil: the route has no dead letter queue
        def self.for(assignment)
          new(assignment) if assignment.partition.topic.dead_letter_queue
        end

        # (see .for)
        def initialize(assignment)
          @assignment = assignment
          @application = assignment.application
          @schedule = assignment.schedule
          @offsets = assignment.offsets
          topic = assignment.partition.topic
          @dispatcher = DeadLetterQueue::Dispatcher.new(topic, @application)
          @backoff = Backoff.new(@application.config, topic.retries)
          @dispatches = []
          @lock = Mutex.new
        end

        # @return [Boolean] whether payloads whose bytes cannot be decoded go there without having been consumed
        def dispatch_undecodable? = @dispatcher.dispatch_undecodable?

        # @return [Blocked, nil] of the dispatch that has failed for longest; nil: none fails
        def blocked
          @lock.synchronize { @dispatches.reject { |dispatch| void?(dispatch) }.filter_map(&:blocked).min_by(&:since) }
        end

        # Does not block.
        # @param messages [Enumerable<Message>] of one batch
        # @param attempts [Integer] how often each has failed
        # @param error_of [#call] takes a message, returns why it goes there
        # @param skip [Boolean] whether nothing is sent: they are done
        # @yield called once all of them are done, by this thread or another; not where a seek, or the partition's end, has made them void
        # @return [void]
        def dispatch(messages, attempts, error_of:, skip: false, &on_settled)
          messages = messages.to_a.dup
          dispatch = Dispatch.new(messages, messages.first.batch.generation, attempts, error_of, on_settled)
          return settle(dispatch) if skip || messages.none? { |message| @dispatcher.sends?(error_of.call(message)) }

          @lock.synchronize { @dispatches << dispatch }
          start(dispatch)
        end

        private

        # By the runner that has decided, or by the timer.
        def start(dispatch)
          return forget(dispatch) unless @schedule.begin_sending

          @application.in_background { attempt(dispatch) }
        end

        def attempt(dispatch)
          ErrorBoundary.contain(->(error) { failed(error, dispatch) }) { send_all(dispatch) }
        ensure
          @schedule.sent
        end

        def send_all(dispatch)
          return forget(dispatch) if give_up?(dispatch)

          late_at = Clock.now + LATE_SECONDS
          @dispatcher.dispatch(dispatch.messages.dup, dispatch.attempts, confirmed: ->(message) { confirm(message, dispatch) },
            give_up: -> { late(dispatch, late_at) || give_up?(dispatch) }, &dispatch.error_of)
          settle(dispatch)
        end

        # @return [nil]
        def late(dispatch, at)
          return if dispatch.blocked || Clock.now < at

          to = @dispatcher.target(dispatch.error_of.call(dispatch.messages.first))
          dispatch.blocked = Blocked.new(to:, reason: LATE, since: Time.now.utc - LATE_SECONDS, attempt: 0)
          publish(dispatch, nil)
        end

        def settle(dispatch)
          dispatch.messages.dup.each { |message| confirm(message, dispatch) }
          conclude(dispatch)
        end

        # No message of it is left to be sent: an error that comes now is none of the dispatch.
        def conclude(dispatch)
          forget(dispatch)
          ErrorBoundary.contain(->(error) { report(error) }) { dispatch.on_settled.call } unless void?(dispatch)
        end

        def report(error) = @assignment.error(error, "dead_letter_queue")

        def confirm(message, dispatch)
          dispatch.messages.delete(message)
          @offsets.mark_each(dispatch.generation) { [[message.offset, message.batch.offset_after(message.offset)]] }
        end

        def forget(dispatch) = @lock.synchronize { @dispatches.delete(dispatch) }

        # Whether a seek, or the partition's end, has made void what was decided.
        def void?(dispatch) = @schedule.leaving? || stale?(dispatch)

        def stale?(dispatch) = dispatch.generation != @offsets.generation

        # What is on its way while the process stops may still arrive.
        def give_up?(dispatch)
          return stale?(dispatch) unless @schedule.leaving?

          dispatch.give_up_at ||= Clock.now + (dispatch.failures.zero? ? GRACE_SECONDS : 0)
          Clock.now >= dispatch.give_up_at
        end

        def failed(error, dispatch)
          return forget(dispatch) if void?(dispatch)

          if dispatch.messages.empty? # they were sent; one that could not be marked is consumed again
            report(error)
            return conclude(dispatch)
          end

          block(error, dispatch)
          seconds = @backoff.seconds(dispatch.failures)
          publish(dispatch, seconds)
          @application.timer.after(seconds) { start(dispatch) }
        end

        # @return [nil]
        def publish(dispatch, seconds)
          blocked = dispatch.blocked
          @assignment.publish("dead_letter_queue.blocked", offset: dispatch.messages.first.offset, to: blocked.to, reason: blocked.reason,
            since: blocked.since, attempt: blocked.attempt, seconds:)
          nil
        end

        def block(error, dispatch)
          before = dispatch.blocked
          told = error.is_a?(DeadLetterError) # else it did not come so far, for want of a producer, say
          to, reason = told ? [error.to, error.reason] : [dispatch_target, "#{error.class}: #{ErrorBoundary.message(error)}"]
          dispatch.blocked = Blocked.new(to:, reason:, since: before&.since || Time.now.utc, attempt: dispatch.failures + 1)
          remind(error, dispatch) if before.nil? || advice(before.reason) != advice(reason) || Clock.now >= dispatch.remind_at
        end

        # librdkafka and the broker have different words for the same reason.
        def advice(reason) = reason[/; (.*)/, 1] || reason

        def dispatch_target = @assignment.partition.topic.dead_letter_queue.topic

        def remind(error, dispatch)
          dispatch.remind_seconds = dispatch.remind_at ? [dispatch.remind_seconds * 2, REMIND.end].min : REMIND.begin
          dispatch.remind_at = Clock.now + dispatch.remind_seconds
          @assignment.error(error, "dead_letter_queue", offset: dispatch.messages.first.offset, to: dispatch.blocked.to,
            since: dispatch.blocked.since, attempt: dispatch.failures)
        end
      end
    end
  end
end
