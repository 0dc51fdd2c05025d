# frozen_string_literal: true

require "time"
require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "../reachability"
require_relative "reports"
require_relative "backoff"

module Guildhall
  module Kafka
    class Partition
      # Carries out what a partition has to send to other topics, and repeats that with growing pauses until the brokers have it. No runner
      # waits for it, and no consumer is called for it. Of one partition; any thread.
      #
      # What is sent is an object with these methods: `generation`, of the messages; `first`, the first message that is not sent, nil: all
      # are; `target`, the topic of that one; `deliver(give_up)`, which blocks until the brokers have all, or raises; `abandon`: nobody
      # waits for it any more; `settled`, called once the brokers have all, but not where a seek, or the partition's end, has made it void.
      # @api private
      class Dispatches
        # Seconds that a partition which is given up waits for a dispatch that has not failed yet.
        GRACE_SECONDS = 1
        # Seconds without the broker's confirmation, from which on a dispatch counts as blocked: librdkafka reports a missing topic only
        # after `topic.metadata.propagation.max.ms`.
        LATE_SECONDS = 5
        LATE = "no broker has confirmed the message for #{LATE_SECONDS} s: check that the topic exists, and that its brokers can be " \
               "reached".freeze
        private_constant :GRACE_SECONDS

        # A topic that cannot be written to: its name, what the broker or librdkafka says, the Time of the first attempt that failed, and
        # how many have failed; 0: the first one waits for the broker.
        Blocked = Data.define(:to, :reason, :since, :attempt) do
          def to_s = "topic #{to} cannot be written: #{reason} (since #{since.iso8601}, attempt #{attempt})"
        end

        Dispatch = Struct.new(:load, :blocked, :give_up_at) do
          def failures = blocked ? blocked.attempt : 0
        end
        private_constant :Dispatch

        # @param name [String] of its errors; its event is `NAME.blocked`
        def initialize(partition, name)
          @partition = partition
          @reports = partition.reports
          @name = name
          @runtime = partition.runtime
          @inbox = partition.inbox
          @progress = partition.progress
          @backoff = Backoff.new(@runtime.config, partition.topic.retries)
          @dispatches = []
          @reminders = Hash.new { |reminders, to| reminders[to] = Reachability::Reminders.new } # by topic, whatever is sent there
          @lock = Mutex.new
        end

        # @return [Blocked, nil] of the dispatch that has failed for longest; nil: none fails
        def blocked
          @lock.synchronize { @dispatches.reject { |dispatch| void?(dispatch.load) }.filter_map(&:blocked).min_by(&:since) }
        end

        # Does not block.
        def start(load) = attempt_soon(add(load))

        # As {#start}, for one whose first attempt has failed, or has lasted for {LATE_SECONDS}.
        # @param error [#to, #reason] why
        # @param late [Boolean] whether the brokers may still take it
        def take_over(load, error, late:)
          dispatch = add(load)
          return failed(error, dispatch) unless late
          return forget(dispatch) if void?(load)

          begin
            mark_late(dispatch, error.to)
            remind(error, dispatch)
          ensure
            attempt_soon(dispatch) # also if a subscriber ends the thread
          end
        end

        # Nothing of it is left to be sent.
        def conclude(load)
          ErrorBoundary.contain(->(error) { report(error) }) { load.settled } unless void?(load)
        end

        private

        def void?(load) = @partition.void?(load.generation)

        def add(load) = Dispatch.new(load).tap { |dispatch| @lock.synchronize { @dispatches << dispatch } }

        def forget(dispatch)
          @lock.synchronize { @dispatches.delete(dispatch) }
          dispatch.load.abandon
        end

        # By the runner that has decided, or by the timer.
        def attempt_soon(dispatch)
          return forget(dispatch) unless @inbox.begin_sending

          @runtime.in_background { attempt(dispatch) }
        end

        def attempt(dispatch)
          ErrorBoundary.contain(->(error) { failed(error, dispatch) }) { deliver(dispatch) }
        ensure
          @inbox.end_sending
        end

        def deliver(dispatch)
          return forget(dispatch) if give_up?(dispatch)

          late_at = Clock.now + LATE_SECONDS
          dispatch.load.deliver(lambda do
            mark_late(dispatch, dispatch.load.target) unless dispatch.blocked || Clock.now < late_at
            give_up?(dispatch)
          end)
          finish(dispatch)
        end

        # An error that comes now is none of the dispatch.
        def finish(dispatch)
          forget(dispatch)
          @lock.synchronize { @reminders.delete(dispatch.blocked.to) } if dispatch.blocked
          conclude(dispatch.load)
        end

        def mark_late(dispatch, to)
          dispatch.blocked = Blocked.new(to:, reason: LATE, since: Time.now.utc - LATE_SECONDS, attempt: 0)
          publish(dispatch, nil)
        end

        # What is on its way while the process stops may still arrive.
        def give_up?(dispatch)
          return @progress.void?(dispatch.load.generation) unless @inbox.leaving?

          dispatch.give_up_at ||= Clock.now + (dispatch.failures.zero? ? GRACE_SECONDS : 0)
          Clock.now >= dispatch.give_up_at
        end

        def failed(error, dispatch)
          return forget(dispatch) if void?(dispatch.load)

          if dispatch.load.first.nil? # all were sent; one that could not be marked is consumed again
            report(error)
            return finish(dispatch)
          end

          seconds = @backoff.seconds(dispatch.failures + 1)
          begin
            block(error, dispatch)
            publish(dispatch, seconds)
          ensure
            @runtime.timer.after(seconds) { attempt_soon(dispatch) } # also if a subscriber ends the thread
          end
        end

        def report(error) = @reports.error(error, @name)

        def publish(dispatch, seconds)
          @reports.publish("#{@name}.blocked", offset: dispatch.load.first&.offset, **dispatch.blocked.to_h, seconds:)
        end

        def block(error, dispatch)
          told = error.respond_to?(:reason) && error.reason # nil if nothing was sent, because no producer could be opened for instance
          to, reason = told ? [error.to, error.reason] : [dispatch.load.target, "#{error.class}: #{ErrorBoundary.message(error)}"]
          dispatch.blocked = Blocked.new(to:, reason:, since: dispatch.blocked&.since || Time.now.utc, attempt: dispatch.failures + 1)
          remind(error, dispatch)
        end

        def remind(error, dispatch)
          blocked = dispatch.blocked
          same = blocked.reason[/; (.*)/, 1] || blocked.reason # librdkafka and the broker have different words, but the same advice
          return unless @lock.synchronize { @reminders[blocked.to].due?(same, Clock.now) }

          @reports.error(error, @name, offset: dispatch.load.first.offset, **blocked.to_h.slice(:to, :since, :attempt))
        end
      end
    end
  end
end
