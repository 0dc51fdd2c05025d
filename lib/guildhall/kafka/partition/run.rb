# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "attempts"
require_relative "dead_letters"
require_relative "strategies/keyed"
require_relative "strategies/virtual"
require_relative "../reachability"
require_relative "../filtering/filter_runner"

module Guildhall
  module Kafka
    class Partition
      # Works on the batches of a partition, one after the other: looks at what of a batch is not done, has consumers called with it, and
      # finishes the batch, or leaves it for another attempt. In order one consumer gets all of it; with virtual partitions a strategy
      # ({Virtual}, {Keyed}) makes units of it, which runners work on side by side. {FailurePolicy} decides what follows a failure; this
      # class carries it out, and is the only one that does.
      class Run
        # @param consumers [Consumers]
        def initialize(partition, consumers)
          @partition = partition
          @inbox = partition.inbox
          @progress = partition.progress
          @reports = partition.reports
          @topic = partition.topic
          @runtime = partition.runtime
          @filters = Filtering::FilterRunner.new(partition) if partition.topic.filters.any?
          @dead_letters = DeadLetters.for(partition)
          @attempts = Attempts.new(partition)
          @at_most_once = @topic.delivery == :at_most_once
          @consumers = consumers
          @virtual = (@topic.ordering ? Keyed : Virtual).new(partition, consumers) if @topic.virtual_partitions
          @collapsed = false
          @recalled = @virtual.nil? && @dead_letters.nil?
          @unfinished = nil # the batch that was not finished the last time; nil: all were
          @dispatching = false # whether messages are on their way to the dead letters, which the batch waits for
          @reminders = nil # of why transactions fail; nil: the last one was committed
        end

        # (see Attempts#number)
        def attempt = @attempts.number

        # @return [Boolean] whether the partition is consumed in order, because of a failure, although it is virtual
        def collapsed? = @collapsed

        # @return [Dispatches::Blocked, nil] nil: dead letters arrive, or there are none
        def blocked = [@dead_letters&.blocked, @virtual&.blocked].compact.min_by(&:since)

        # @return [ParkedKeys, nil] nil: the route does not order by key
        def parked_keys = @virtual&.parked_keys

        # @return [Boolean, nil] whether other runners have it now
        def consume(batch)
          ready = ErrorBoundary.contain(->(error) { not_begun(error, batch) }) do
            next unless (batch = admit(batch))

            pending = prepare(batch)
            next leave_unfinished(batch) if pending == :dispatching
            next skip(batch) if pending.nil? || pending.empty?
            next postpone(batch) if @at_most_once && !@progress.commit_ahead(batch.end_offset, batch.generation)

            next @virtual.work(batch, pending, self) unless in_order?

            messages = batch.messages(narrow(batch, pending), in_order)
            -> { consume_in_order(messages) }
          end
          ready&.call
        end

        # The partition is given up.
        def leave
          @virtual&.leave
        end

        # @return [Boolean] false: what a consumer has done in its `initialized`, a seek or a pause, keeps the batch from being consumed now
        def begins?(batch) = !void?(batch) && !@inbox.suspended?

        # Called by {Virtual}: the user's partitioner has raised.
        # @!visibility private
        def partitioner_failed(error, message)
          @reports.error(error, "virtual_partitions.partitioner", offset: message.offset)
        end

        # Called by {Work}: a consumer has raised.
        # @param result [ConsumerCall::Result]
        # @!visibility private
        def call_failed(result) = report(result.error, result.messages)

        # Called by {Work}, by the runner whose unit is the last to end.
        # @!visibility private
        def work_ended(work)
          report_done(work.messages, work.began, work.error)
          return finish(work.batch) if work.parking?

          conclude(work.batch, work.messages, work.error, together: work.messages.size > 1)
        end

        private

        def in_order? = @virtual.nil? || @collapsed
        def in_order = @consumers.at(:in_order)

        # @return [Batch, nil] what of it is consumed now; nil: nothing, the partition rests, or the batch is void
        def admit(batch)
          recall unless @recalled
          in_order if in_order? # its `initialized` may seek or pause
          return unless begins?(batch)

          batch = @filters.pass(batch) if @filters
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
          batch.equal?(@unfinished) ? batch.decode_again : @attempts.stop_search
          pending = look(batch)
          return pending if pending.nil? || pending.empty? || !@dead_letters&.dispatch_undecodable?

          dispatch_undecodable(batch, pending)
          @dispatching ? :dispatching : look(batch) # `@dispatching` is read first: if they are all sent between the two, `look` sees it
        end

        # @param consumed [Boolean] whether `consume` was called since the last look, which may have done the first of them
        # @return [Array<Integer>, nil] the indexes of what is not done; nil: a seek has made the batch void
        def look(batch, consumed: false)
          pending = @progress.pending(batch) or return
          at = [batch.generation, batch.records[pending.first].offset] if pending.any?
          consumed ? @attempts.consumed_up_to(at) : @attempts.at = at
          pending
        end

        # @return [Array<Integer>] which messages are consumed next: all, unless the one that fails is looked for
        def narrow(batch, pending)
          return pending unless @attempts.searching?

          pending.first(@attempts.size_of_next(pending.map { |index| batch.records[index].offset }))
        end

        # `consume` has returned: what is left of the batch is consumed next, after a pause if there was no progress.
        def returned(batch)
          before = @attempts.at
          pending = look(batch, consumed: true)
          return finish(batch) if pending.nil? || pending.empty?

          if (unmarked = @progress.unmarked_before(batch))
            @attempts.at = [batch.generation, unmarked]
            go_back(unmarked, @attempts.postponed)
          elsif @attempts.at == before && !@inbox.leaving?
            return postpone(batch)
          end
          leave_unfinished(batch)
        end

        # @return [nil] no other runner has it
        def consume_in_order(messages)
          batch = messages.batch
          began = Clock.now
          in_order.consume(messages) do |result|
            report(result.error, messages) if result.error
            complete(batch, messages) if result.whole
            report_done(messages, began, result.error)
            conclude(batch, messages, result.error)
          end
          nil
        end

        def complete(batch, messages)
          @progress.complete(@unfinished ? batch.offset_after(messages.last_offset) : batch.end_offset, batch.generation)
        end

        # Whatever the calls have come to: a consumer may have marked messages before it raised. Of messages that a seek has made void it is
        # not known which were done: all of them, if it has not raised.
        def report_done(messages, began, error)
          left = @progress.pending(messages.batch)
          undone = left ? left.count { |index| messages.batch.records[index].offset <= messages.last_offset } : (error ? messages.size : 0)
          @reports.consumed(messages, began, messages.size - undone, again: !!left&.any?) if undone < messages.size
        end

        # All calls of `consume` with a batch, or with what was left of it, have ended.
        # @param error [Exception, nil] the first that one of them has raised
        # @param together [Boolean] whether several consumers have worked on the messages, so that these do not tell what each has looked at
        def conclude(batch, messages, error, together: false)
          @reminders = nil unless error
          return finish(batch) if void?(batch)
          return finish_at_most_once(batch) if @at_most_once
          return failed(error, batch, messages, together:) if error

          decided { returned(batch) }
        end

        # No consumer was called: a consumer's `initialized`, or what comes before the call, has raised.
        def not_begun(error, batch)
          report(error, nil)
          failed(error, batch, nil) unless void?(batch)
        end

        # @param messages [Messages, nil] what `consume` was called with; nil: it was not called
        # @param together [Boolean] see {#conclude}
        def failed(error, batch, messages, together: false)
          @collapsed = true if @virtual && messages
          leave_unfinished(batch)
          decided { decide(error, batch, messages, together) }
        end

        def decided(&) = ErrorBoundary.contain(method(:undecided), &)

        def decide(error, batch, messages, together)
          pending = look(batch, consumed: true)
          return finish(batch) if pending.nil? || pending.empty?
          return postpone(batch) unless messages

          unmarked = @progress.unmarked_before(batch)
          load = ForwardingError.load_of(error)
          return rest_until_sent(:forwarding, batch) { |sent| load.on_settled(&sent) } if load && !unmarked

          @attempts.at = [batch.generation, unmarked] if unmarked
          carry_out(@attempts.failed(error, messages, together:, unmarked: !unmarked.nil?), error, batch, pending)
        end

        def carry_out(decision, error, batch, pending)
          case decision
          when FailurePolicy::Retry then rest(decision.failures)
          when FailurePolicy::DeadLetter
            dispatch(batch.messages(decision.all ? pending : pending.first(1)), decision.attempts, skip: decision.skip) { error }
            @attempts.at = nil
          when FailurePolicy::Undecided then undecided(decision.error, decision.failures, type: "strategy")
          when FailurePolicy::Rewind
            report_unmarked if decision.spent
            go_back(decision.offset, decision.failures)
          end
        end

        # (see Attempts#undecided)
        def undecided(error, *, **) = @attempts.undecided(error, *, **) { |seconds| @inbox.pause(:backoff, seconds) }

        # With manual offset management the consumer may still hold messages of earlier batches, in a buffer for instance. All
        # messages that are not marked are delivered again.
        # @param failures [Integer] in a row
        def go_back(offset, failures)
          @attempts.stop_search
          rest(failures)
          @partition.go_back(offset)
        end

        def report_unmarked
          @reports.error(UnmarkedError.new("messages from #{@partition}@#{@attempts.at.last} on are not marked as consumed: nothing goes " \
                                           "to the dead letters, for any of them may have failed"), "dead_letter_queue")
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
          pause = @inbox.pause_for(batch, reason)
          yield -> { @inbox.resume(reason, pause) } if pause
          nil
        end

        # It is not consumed now, for a reason that says nothing about its messages: after a pause it is next again.
        def postpone(batch)
          rest(@attempts.postponed)
          leave_unfinished(batch)
        end

        # @param failures [Integer] in a row
        def rest(failures) = @attempts.rest(failures) { |seconds| @inbox.pause(:backoff, seconds) }

        # It is not consumed again, whatever its call has come to.
        def finish_at_most_once(batch)
          @progress.complete(batch.end_offset, batch.generation)
          finish(batch)
        end

        # Nothing was left of it.
        def skip(batch)
          @progress.complete(batch.end_offset, batch.generation) unless @topic.ordering
          finish(batch)
          return unless batch.kept.empty? && @runtime.listening?("consumer.skipped")

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
          @attempts.stop_search
          @attempts.at = @unfinished = nil
          @collapsed = false
          wait_for_left_over(batch)
          @inbox.finish(batch)
          nil
        end

        # What its consumer has sent on has not arrived: the next batch waits, or it would arrive first.
        def wait_for_left_over(batch)
          return unless @partition.outbox.left_over?

          rest_until_sent(:forwarding, batch) { |sent| @partition.outbox.on_sent(&sent) }
        end

        def void?(batch) = @partition.void?(batch.generation)

        # What keeps transactions from being committed lasts, and each attempt meets it again.
        def report(error, messages)
          @reminders ||= Reachability::Reminders.new
          return if error.is_a?(TransactionError) && !@reminders.due?(Transactions.reason(error), Clock.now)

          @reports.consume_failed(error, messages, attempt, isolating: @attempts.searching?)
        end
      end
    end
  end
end
