# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "backoff"
require_relative "dead_letters"
require_relative "failure_policy"
require_relative "key_ordering"
require_relative "passing_errors"
require_relative "virtual_partitions"
require_relative "../reachability"
require_relative "../filtering/gate"

module Guildhall
  module Kafka
    class Partition
      # Works on the batches of a partition, one after the other, on runners: looks at what of a batch is not done, calls the consumer with
      # it, and finishes the batch, or leaves it for another attempt. {FailurePolicy} decides what follows a failure; this class carries it
      # out.
      class Run
        # @param consumers [Consumers]
        def initialize(partition, consumers)
          @partition = partition
          @consumers = consumers
          @inbox = partition.inbox
          @progress = partition.progress
          @reports = partition.reports
          @topic = partition.topic
          @application = partition.application
          @instrumentation = @application.instrumentation
          @gate = Filtering::Gate.for(partition)
          @dead_letters = DeadLetters.for(partition)
          @policy = FailurePolicy.new(@topic)
          @passing = PassingErrors.new(@topic, partition.to_s, @application.contention)
          @backoff = Backoff.new(@application.config, @topic.retries)
          @at_most_once = @topic.delivery == :at_most_once
          @virtual = (@topic.ordering ? KeyOrdering : VirtualPartitions).new(partition, consumers) if @topic.virtual_partitions
          @recalled = @virtual.nil? && @dead_letters.nil?
          @unfinished = nil # the batch that was not finished the last time; nil: all were
          @at = nil # the first message that is not done: its generation and offset
          @history = FailurePolicy::NOTHING
          @dispatching = false # whether messages are on their way to the dead letters, which the batch waits for
          @reminders = nil # of why transactions fail; nil: the last one was committed
        end

        # @return [Integer] of the next call of `consume`, from 1
        def attempt = @history.at == @at ? @history.attempt : 1

        # @return [Boolean] whether the partition is consumed in order, because of a failure, although it is virtual
        def collapsed? = @virtual ? @virtual.collapsed? : false

        # @return [Dispatches::Blocked, nil] nil: dead letters arrive, or there are none
        def blocked = [@dead_letters&.blocked, @virtual&.blocked].compact.min_by(&:since)

        # @return [ParkedKeys, nil] nil: the route does not order by key
        def parked_keys = @virtual&.parked_keys

        # @return [Boolean, nil] whether other runners have it now
        def consume(batch)
          messages = nil
          ErrorBoundary.contain(->(error) { raised(error, batch, messages) }) do
            next unless (batch = admit(batch))

            pending = prepare(batch)
            next leave_unfinished(batch) if pending == :dispatching
            next skip(batch) if pending.nil? || pending.empty?
            next postpone(batch) if @at_most_once && !@progress.commit_ahead(batch.end_offset, batch.generation)
            next @virtual.start(batch, pending, self) if @virtual && !collapsed?

            messages = in_order.messages(batch, narrow(batch, pending))
            consume_in_order(batch, messages)
          end
        end

        # The partition is given up.
        def leave
          @virtual&.leave
        end

        # @return [Boolean] false: what a consumer has done in its `initialized`, a seek or a pause, keeps the batch from being consumed now
        def begins?(batch) = !@inbox.leaving? && batch.generation >= @progress.generation && !@inbox.held?

        # Called by {VirtualPartitions}.
        # @!visibility private
        def partitioner_failed(error, message)
          @reports.error(error, "virtual_partitions.partitioner", offset: message.offset)
        end

        # A share has failed.
        # @!visibility private
        def share_failed(error, messages) = report(error, messages)

        # Called by the runner whose share is the last to end.
        # @!visibility private
        def shares_ended(shares)
          @reports.consumed(shares.messages, shares.began, shares.size, again: !shares.error.nil?) if shares.size.positive?
          conclude(shares) unless void?(shares.batch)
        ensure
          @partition.release
        end

        private

        def in_order = @consumers.at(:in_order)

        # @return [Batch, nil] what of it is consumed now; nil: nothing, the partition rests, or the batch is void
        def admit(batch)
          recall unless @recalled
          in_order unless @virtual && !collapsed? # its `initialized` may seek or pause
          return unless begins?(batch)

          batch = @gate.pass(batch) if @gate
          batch && without_outage(batch)
        end

        # What was done behind the committed offset, by another member or before a restart.
        def recall
          @recalled = true
          @progress.recall
        rescue Rdkafka::RdkafkaError => error
          @reports.error(error, "offset_metadata")
        end

        # Where all payloads are decoded first, what comes before the first that an outage keeps from being decoded does not wait for it.
        # May block until payloads are decoded.
        def without_outage(batch)
          return batch if @unfinished || !@dead_letters&.dispatch_undecodable?

          first, *others = @progress.pending(batch)
          return batch if others.empty? || outage?(batch.results[first])

          index = others.find { |other| outage?(batch.results[other]) } or return batch
          ready, waiting = batch.split(index)
          ready if @inbox.replace(batch, [ready, waiting])
        end

        def outage?(result) = result.is_a?(Failure) && ErrorKind.of(result.exception, @topic) == :outage

        # What could not be decoded before is decoded again, and what never can be goes to the dead letters, if the route says so.
        # @return [Array<Integer>, :dispatching, nil] the indexes of the messages to consume; :dispatching: the batch waits until messages
        #   have been sent to the dead letters; nil: a seek has made it void
        def prepare(batch)
          @dispatching = false # a seek may have made void what was to be sent
          batch.equal?(@unfinished) ? batch.decode_again : @history = @history.with(search: nil)
          pending = look(batch)
          return pending if pending.nil? || pending.empty? || !@dead_letters&.dispatch_undecodable?

          dispatch_undecodable(batch, pending)
          @dispatching ? :dispatching : look(batch) # in this order: they may have been sent in between
        end

        # @return [Array<Integer>, nil] the indexes of what is not done; nil: a seek has made the batch void
        def look(batch)
          pending = @progress.pending(batch)
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

        # @return [Array<Integer>] which messages are consumed next: all, unless the one that fails is looked for
        def narrow(batch, pending)
          return pending unless @history.search

          pending.first(@history.search.size_of_next(pending.map { |index| batch.records[index].offset }))
        end

        def consume_in_order(batch, messages)
          began = Clock.now
          whole = in_order.consume(messages) || @at_most_once
          @reminders = nil
          @reports.consumed(messages, began)
          @progress.complete(@unfinished ? batch.offset_after(messages.last_offset) : batch.end_offset, batch.generation) if whole
          return go_on(batch) unless whole && @unfinished.nil?

          @passing.consumed_up_to(nil)
          finish(batch)
        end

        # Shares of a batch have ended.
        def conclude(shares)
          batch = shares.batch
          return finish(batch) if shares.parking? || (shares.error && @at_most_once)
          return @at_most_once ? finish(batch) : go_on(batch) unless shares.error

          @virtual.collapsed = true
          alone = shares.messages.size == 1
          failed(shares.error, batch, alone ? shares.messages : batch.messages, together: !alone)
        end

        # `consume` has returned: what is left of the batch is consumed next, after a pause if there was no progress.
        def go_on(batch)
          before = @at
          pending = look_after(batch)
          return finish(batch) if pending.nil? || pending.empty?

          if (unmarked = @progress.unmarked_before(batch))
            @at = [batch.generation, unmarked]
            go_back(unmarked, batch, postponed)
          elsif @at == before && !@inbox.leaving?
            return postpone(batch)
          end
          leave_unfinished(batch)
        end

        def raised(error, batch, messages)
          report(error, messages)
          return if void?(batch)

          messages && @at_most_once ? finish(batch) : failed(error, batch, messages)
        end

        # @param messages [Messages, nil] what `consume` was called with; nil: it was not called
        # @param together [Boolean] whether they were consumed by several consumers at once
        def failed(error, batch, messages, together: false)
          leave_unfinished(batch)
          ErrorBoundary.contain(->(failure) { undecided(failure, batch) }) { decide(error, batch, messages, together) }
        end

        def decide(error, batch, messages, together)
          pending = look_after(batch)
          return finish(batch) if pending.nil? || pending.empty?
          return postpone(batch) unless messages

          unmarked = @progress.unmarked_before(batch)
          load = ForwardingError.load_of(error)
          return rest_until_sent(:forwarding, batch) { |sent| load.on_settled(&sent) } if load && !unmarked

          @at = [batch.generation, unmarked] if unmarked
          call = FailurePolicy::FailedCall.new(error:, at: @at, together:, passing: @passing.include?(error, @at), unmarked: !unmarked.nil?,
            last_offset: messages.last_offset, last_read: messages.last_read, at_hand: messages.failing_offset(error))
          @history = @policy.note(call, @history) # before the strategy is asked, which may end this thread
          decision, @history = @policy.decide(call, @history)
          carry_out(decision, error, batch, pending)
        end

        def carry_out(decision, error, batch, pending)
          case decision
          when FailurePolicy::Retry then rest(decision.failures, batch)
          when FailurePolicy::DeadLetter
            dispatch(batch.messages(decision.all ? pending : pending.first(1)), decision.attempts, skip: decision.skip) { error }
            @at = nil
          when FailurePolicy::Undecided then undecided(decision.error, batch, decision.failures)
          when FailurePolicy::Rewind
            report_unmarked if decision.spent
            go_back(decision.offset, batch, decision)
          end
        end

        # Without a pause that would happen again at once.
        def undecided(error, batch, failures = [@history.failures, 1].max)
          @reports.error(error, "dead_letter_queue")
          rest(failures, batch)
        end

        # With manual offset management the consumer may still hold messages of earlier batches, in a buffer for instance. All
        # messages that are not marked are delivered again.
        # @param decision [#failures]
        def go_back(offset, batch, decision)
          @history = @history.with(search: nil)
          rest(decision.failures, batch)
          @partition.go_back(offset)
        end

        def report_unmarked
          @reports.error(UnmarkedError.new("messages from #{@partition}@#{@at.last} on are not marked as consumed: nothing goes to the " \
                                           "dead letters, for any of them may have failed"), "dead_letter_queue")
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

        # The partition rests until messages were sent, but no runner waits for that.
        # @yieldparam sent [#call] to be called then
        # @return [nil]
        def rest_until_sent(reason, batch)
          @inbox.pause(reason)
          yield -> { @inbox.resume(reason) }
          @inbox.resume(reason) if batch.generation != @progress.generation # a seek that has just made it void came before the pause
          nil
        end

        # It is not consumed now, for a reason that says nothing about its messages: after a pause it is next again.
        def postpone(batch)
          rest(postponed.failures, batch)
          leave_unfinished(batch)
        end

        # @return [FailurePolicy::Retry]
        def postponed
          decision, @history = @policy.postponed(@at, @history)
          decision
        end

        # @param failures [Integer] in a row
        def rest(failures, batch)
          seconds = @backoff.seconds(failures)
          @reports.publish("consumer.retrying", offset: @at&.last || batch.first_offset, attempt: @history.failures, seconds:)
          @inbox.pause(:backoff, seconds)
        end

        # Nothing was left of it.
        def skip(batch)
          @progress.complete(batch.end_offset, batch.generation) unless @topic.ordering
          finish(batch)
          return unless batch.kept.empty? && @instrumentation.listening?("consumer.skipped")

          @reports.publish("consumer.skipped", read: batch.records.size, dropped: batch.dropped, bytes: batch.bytes)
          nil
        end

        # @return [nil]
        def leave_unfinished(batch)
          @unfinished = batch
          nil
        end

        # @return [nil]
        def finish(batch)
          @history = @history.with(search: nil)
          @at = @unfinished = nil
          @virtual.collapsed = false if @virtual
          wait_for_left_over(batch)
          @inbox.finish(batch)
          nil
        end

        # What its consumer has sent on has not arrived: the next batch waits, or it would arrive first.
        def wait_for_left_over(batch)
          return unless @partition.outbox.left_over?

          rest_until_sent(:forwarding, batch) { |sent| @partition.outbox.on_sent(&sent) }
        end

        # A seek, or the partition's end, makes it void whether it worked.
        def void?(batch) = @inbox.leaving? || batch.generation != @progress.generation

        # What keeps transactions from being committed lasts, and each attempt meets it again.
        def report(error, messages)
          @reminders ||= Reachability::Reminders.new
          return if error.is_a?(TransactionError) && !@reminders.due?(Transactions.reason(error), Clock.now)

          @reports.consume_failed(error, messages, attempt, isolating: !@history.search.nil?)
        end
      end
    end
  end
end
