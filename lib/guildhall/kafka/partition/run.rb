# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "attempts"
require_relative "dead_letters"
require_relative "keyed"
require_relative "virtual"
require_relative "../reachability"
require_relative "../filtering/filter_runner"

module Guildhall
  module Kafka
    class Partition
      # Works on the batches of a partition, one after the other: looks at what of a batch is not done, has consumers called with it, and
      # finishes the batch, or leaves it for another attempt. In order one consumer gets all of it; with virtual partitions ({Virtual},
      # {Keyed}) runners work on its parts side by side. {FailurePolicy} decides what follows a failure: {Attempts} carries out what is
      # a pause, this class the rest; of parked keys {KeyRetries} does.
      # @api private
      class Run
        def initialize(partition, consumers)
          @partition = partition
          @inbox = partition.inbox
          @progress = partition.progress
          @reports = partition.reports
          @topic = partition.topic
          @runtime = partition.runtime
          @filters = Filtering::FilterRunner.new(partition) if partition.topic.filters.any?
          @dead_letters = DeadLetters.for(partition)
          @attempts = Attempts.new(partition) { |seconds| @inbox.pause(:backoff, seconds) }
          @at_most_once = @topic.delivery == :at_most_once
          @consumers = consumers
          if @topic.ordering
            @retries = KeyRetries.new(partition, consumers, @dead_letters)
            @virtual = Keyed.new(partition, consumers, self, @retries)
          elsif @topic.virtual_partitions
            @virtual = Virtual.new(partition, consumers, self)
          end
          @collapsed = false
          @recalled = @virtual.nil? && @dead_letters.nil?
          @begun = nil # the batch that was begun last; nil: it was finished
          @reminders = nil # of why transactions fail; nil: the last one was committed
        end

        # @return [Attempts] at the first message that is not done
        attr_reader :attempts

        # (see Attempts#number)
        def attempt = @attempts.number

        # @return [Boolean] whether the partition is consumed in order, because of a failure, although it is virtual
        def collapsed? = @collapsed

        # @return [Dispatches::Blocked, nil] nil: dead letters arrive
        def blocked = @dead_letters&.blocked

        # @return [ParkedKeys, nil] nil: the route does not order by key
        def parked_keys = @retries&.keys

        # @return [Boolean, nil] whether other runners have it now
        def consume(batch)
          ready = ErrorBoundary.contain(->(error) { not_begun(error, batch) }) do
            next unless (batch = admit(batch))

            pending = begin_attempt(batch)
            next skip(batch) if pending.nil? || pending.empty?
            next if dispatch_undecodable(batch, pending)
            next @attempts.postpone if @at_most_once && !@progress.commit_ahead(batch.end_offset, batch.generation)

            next @virtual.begin(batch, pending) unless in_order?

            messages = batch.messages(@attempts.narrow(pending, batch.records), in_order)
            -> { consume_in_order(messages) }
          end
          ready&.call
        end

        # @return [Boolean] false: what a consumer has done in its `initialized`, a seek or a pause, keeps the batch from being consumed now
        def begins?(batch) = !void?(batch) && !@inbox.suspended?

        # A consumer has raised. What keeps transactions from being committed lasts, and each attempt meets it again.
        # @param messages [Messages, nil] that it was called with; nil: it was not called
        def report(error, messages)
          @reminders ||= Reachability::Reminders.new
          return if error.is_a?(TransactionError) && !@reminders.due?(Transactions.reason(error), Clock.now)

          @reports.consume_failed(error, messages, attempt, isolating: @attempts.searching?)
        end

        # All calls of `consume` with a batch, or with what was left of it, have ended.
        # @param messages [Messages] that they had together
        # @param began [Float] when, of the {Clock}
        # @param error [Exception, nil] the first that one of them has raised
        # @param together [Boolean] whether several consumers have worked on the messages, so that these do not tell what each has looked at
        def conclude(messages, began, error, together: false)
          batch = messages.batch
          report_done(messages, began, error)
          @reminders = nil unless error
          return finish(batch) if void?(batch) || @retries # what has failed is parked
          return finish_whole(batch) if @at_most_once

          @collapsed = true if error && @virtual
          decide(batch) { |pending, before| error ? failed(error, messages, pending, together) : returned(batch, before) }
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
          return batch if batch.equal?(@begun) || !@dead_letters&.dispatch_undecodable?

          first, *others = @progress.pending(batch)
          return batch if others.empty? || outage?(batch.results[first])

          index = others.find { |other| outage?(batch.results[other]) } or return batch
          ready, waiting = batch.split(index)
          ready if @inbox.replace(batch, [ready, waiting])
        end

        def outage?(result) = result.is_a?(Failure) && ErrorKind.of(result.exception, @topic) == :outage

        # What could not be decoded before is decoded again.
        # @return [Array<Integer>, nil] as {#look}
        def begin_attempt(batch)
          batch.equal?(@begun) ? batch.decode_again : @attempts.stop_search
          @begun = batch
          look(batch)
        end

        # @param consumed [Boolean] whether `consume` was called since the last look, which may have done the first of them
        # @return [Array<Integer>, nil] the indexes of what is not done; nil: a seek has made the batch void
        def look(batch, consumed: false)
          pending = @progress.pending(batch) or return
          at = [batch.generation, batch.records[pending.first].offset] if pending.any?
          consumed ? @attempts.consumed_up_to(at) : @attempts.at = at
          pending
        end

        # @return [Boolean] whether there are payloads that can never be decoded and that go to the dead letters: the batch waits for that
        def dispatch_undecodable(batch, pending)
          undecodable = batch.messages(pending).undecodable if @dead_letters&.dispatch_undecodable?
          return false if undecodable.nil? || undecodable.empty?

          dispatch(undecodable, 0) { |message| message.failure.exception }
          true
        end

        # @return [nil] no other runner has it
        def consume_in_order(messages)
          began = Clock.now
          in_order.consume(messages) do |result|
            report(result.error, messages) if result.error
            @progress.complete(messages.batch.offset_after(messages.last_offset), messages.batch.generation) if result.whole
            conclude(messages, began, result.error)
          end
          nil
        end

        # Whatever the calls have come to: a consumer may have marked messages before it raised. Of messages that a seek has made void it is
        # not known which were done: all of them, if it has not raised.
        def report_done(messages, began, error)
          left = @progress.pending(messages.batch)
          undone = left ? left.count { |index| messages.batch.records[index].offset <= messages.last_offset } : (error ? messages.size : 0)
          @reports.consumed(messages, began, messages.size - undone, again: !!left&.any?) if undone < messages.size
        end

        # No consumer was called: a consumer's `initialized`, or what comes before the call, has raised.
        def not_begun(error, batch)
          report(error, nil)
          decide(batch) { @attempts.postpone(error) } unless void?(batch)
        end

        # @yieldparam pending [Array<Integer>] the indexes of what is not done
        # @yieldparam before [Array(Integer, Integer), nil] {Attempts#at} until now
        def decide(batch)
          @attempts.guard do
            before = @attempts.at
            pending = look(batch, consumed: true)
            pending.nil? || pending.empty? ? finish(batch) : yield(pending, before)
          end
        end

        # `consume` has returned: what is left of the batch is consumed next, after a pause if there was no progress.
        def returned(batch, before)
          if (unmarked = @progress.unmarked_before(batch))
            @attempts.stop_search
            @attempts.at = [batch.generation, unmarked]
            @attempts.postpone
            @partition.go_back(unmarked)
          elsif @attempts.at == before && !@inbox.leaving?
            @attempts.postpone
          end
        end

        # With manual offset management the consumer may still hold messages of earlier batches, in a buffer for instance. All
        # messages that are not marked are delivered again then.
        def failed(error, messages, pending, together)
          batch = messages.batch
          unmarked = @progress.unmarked_before(batch)
          load = ForwardingError.load_of(error)
          return rest_until_sent(:forwarding, batch) { |sent| load.on_settled(&sent) } if load && !unmarked

          @attempts.at = [batch.generation, unmarked] if unmarked
          case (decision = @attempts.failed(error, messages, together:, unmarked: !unmarked.nil?))
          when FailurePolicy::DeadLetter
            failing = decision.all ? pending : pending.first(1)
            dispatch(batch.messages(failing), decision.attempts, skip: decision.skip) { error }
            @attempts.at = nil
          when FailurePolicy::Rewind
            report_unmarked if decision.spent
            @attempts.rest(decision.failures)
            @partition.go_back(decision.offset)
          when FailurePolicy::Narrow then nil # the next look takes fewer messages ({Attempts#narrow}), at once
          end
        end

        def report_unmarked
          @reports.error(UnmarkedError.new("messages from #{@partition}@#{@attempts.at.last} on are not marked as consumed: nothing goes " \
                                           "to the dead letters, for any of them may have failed"), "dead_letter_queue")
        end

        def dispatch(messages, attempts, skip: false, &error_of)
          rest_until_sent(:dead_letters, messages.first.batch) do |sent|
            @dead_letters.dispatch(messages, attempts, skip:, error_of:, &sent)
          end
        end

        # The partition rests until messages were sent, but no runner waits for that.
        # @yieldparam sent [#call] to be called then
        def rest_until_sent(reason, batch)
          pause = @inbox.pause_for(batch, reason)
          yield -> { @inbox.resume(reason, pause) } if pause
        end

        # Nothing was left of it.
        def skip(batch)
          @topic.ordering ? finish(batch) : finish_whole(batch)
          return unless batch.kept.empty? && @runtime.listening?("consumer.skipped")

          @reports.publish("consumer.skipped", read: batch.records.size, dropped: batch.dropped, bytes: batch.bytes)
          nil
        end

        # It is not consumed again, whatever its call has come to.
        def finish_whole(batch)
          @progress.complete(batch.end_offset, batch.generation)
          finish(batch)
        end

        # @return [nil]
        def finish(batch)
          @attempts.stop_search
          @attempts.at = @begun = nil
          @collapsed = false
          # What its consumer has sent on has not arrived: the next batch waits, or it would arrive first.
          rest_until_sent(:forwarding, batch) { |sent| @partition.forwarding.on_sent(&sent) } if @partition.forwarding.left_over?
          @inbox.finish(batch)
          nil
        end

        def void?(batch) = @partition.void?(batch.generation)
      end
    end
  end
end
