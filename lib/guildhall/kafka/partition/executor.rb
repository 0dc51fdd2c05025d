# frozen_string_literal: true

require "forwardable"
require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "reports"
require_relative "consumer_call"
require_relative "key_ordering"
require_relative "recovery"
require_relative "../reminders"
require_relative "virtual_partitions"
require_relative "../filtering/gate"

module Guildhall
  module Kafka
    class Partition
      # Runs the work of a partition on a runner thread: calls its consumers with messages and events, and when it ends. Finishes a
      # batch whose `consume` has returned; {Recovery} handles one that failed or was left early.
      class Executor
        extend Forwardable

        def_delegators :@partition, :progress, :inbox, :application
        private :progress, :inbox, :application

        def initialize(partition)
          @partition = partition
          @reports = partition.reports
          @instrumentation = application.instrumentation
          @recovery = Recovery.new(partition)
          @unfinished = nil # the batch that was not finished the last time; nil: all were
          @first = nil # the index with which the last call of `consume` began
          @reminders = nil # of why transactions fail; nil: the last one was committed
          @call = nil
          @gate = Filtering::Gate.for(partition)
          follow(partition.topic)
        end

        def attempt = @unfinished ? @recovery.attempt : 1

        # @return [Boolean] whether the partition is consumed in order, because of a failure, although it is virtual
        def collapsed? = @virtual ? @virtual.collapsed? : false

        # @return [Dispatches::Blocked, nil] nil: dead letters arrive, or there are none
        def blocked = [@recovery.blocked, @virtual&.blocked].compact.min_by(&:since)

        # @return [ParkedKeys, nil] nil: the route does not order by key
        def parked_keys = @virtual&.parked_keys

        # @return [Boolean, nil] whether other runners have it now
        def consume(batch)
          messages = nil
          ErrorBoundary.contain(->(error) { failed(error, batch, messages) }) do
            next unless (batch = admit(batch))

            pending = undone(batch)
            next settle(batch, false) if pending == :dispatching
            next skip(batch) unless (@first = pending&.first)

            next postpone(batch) unless !@at_most_once || progress.commit_ahead(batch.end_offset, batch.generation)
            next start_virtual(batch, pending) if @virtual && !collapsed?

            messages = call.messages(batch, @unfinished ? @recovery.narrow(batch, pending) : pending)
            consume_in_order(batch, messages)
          end
        end

        # @return [Boolean] false: what a consumer has done in its `initialized`, a seek or a pause, keeps the batch from being consumed now
        def begins?(batch) = !inbox.leaving? && batch.generation >= progress.generation && !inbox.held?

        # @param event [Symbol] a method of the consumer
        # @param arguments [Array] of that method
        def dispatch_event(event, *arguments)
          report = ->(error) { event_failed(error, event) }
          ErrorBoundary.contain(report) { call } if calls.empty?
          calls.each { |one| ErrorBoundary.contain(report) { one.dispatch(event, *arguments) } }
        end

        # @param reason [Symbol] :revoked or :shutdown
        def leave(reason)
          @virtual&.leave
          dispatch_event(reason) if calls.any?
          @reports.publish("consumer.#{reason}")
        ensure
          inbox.left
        end

        # Called by {VirtualPartitions}.
        # @!visibility private
        def partitioner_failed(error, message)
          @reports.error(error, "virtual_partitions.partitioner", offset: message.offset)
        end

        # @!visibility private
        def share_failed(error, messages)
          report(error, messages)
        end

        # Called by the runner whose share is the last to end.
        # @!visibility private
        def run_ended(run)
          @reports.consumed(run.messages, run.began, run.size, again: !run.error.nil?) if run.size.positive?
          settle(run.batch, settled?(run)) unless given_up?(run.batch)
        ensure
          @partition.release
        end

        private

        def follow(topic)
          @at_most_once = topic.delivery == :at_most_once
          @undecodable_first = topic.dead_letter_queue&.dispatch_undecodable
          @virtual = virtual_partitions if topic.virtual_partitions
          @recalled = @virtual.nil? && topic.dead_letter_queue.nil?
        end

        def virtual_partitions
          @partition.topic.ordering ? KeyOrdering.new(@partition) : VirtualPartitions.new(@partition)
        end

        # @return [Batch, nil] what of it is consumed now; nil: nothing, the partition rests, or the batch is void
        def admit(batch)
          recall unless @recalled
          call unless @virtual && !collapsed? # its `initialized` may seek or pause
          return unless begins?(batch)

          batch = @gate.pass(batch) if @gate
          batch && without_outage(batch)
        end

        # Where all payloads are decoded first, what comes before the first that an outage keeps from being decoded does not wait for it.
        def without_outage(batch)
          return batch if @unfinished || !@undecodable_first

          index = @recovery.outage_after_others(batch) or return batch
          ready, waiting = batch.split(index)
          ready if inbox.replace(batch, [ready, waiting])
        end

        # @return [Array<Integer>, :dispatching, nil] as {Recovery#prepare}
        def undone(batch)
          return progress.pending(batch) unless @unfinished || @undecodable_first

          @recovery.prepare(batch, again: batch.equal?(@unfinished))
        end

        def settled?(run)
          return true if run.parking?
          return @recovery.returned(run.batch, @first) || @at_most_once unless run.error
          return true if @at_most_once

          @virtual.collapsed = true
          alone = run.messages.size == 1
          @recovery.failed(run.error, run.batch, alone ? run.messages : run.batch.messages, together: !alone)
        end

        def start_virtual(batch, pending)
          @virtual.start(batch, pending, self)
        end

        def consume_in_order(batch, messages)
          began = Clock.now
          whole = call.consume(messages) || @at_most_once
          @reminders = nil
          @reports.consumed(messages, began)
          progress.complete(@unfinished ? batch.offset_after(messages.last_offset) : batch.end_offset, batch.generation) if whole
          settle(batch, (whole && @unfinished.nil?) || @recovery.returned(batch, @first))
        end

        def settle(batch, finished)
          return finish(batch) if finished

          @unfinished = batch
          nil
        end

        def postpone(batch) = settle(batch, @recovery.postpone(batch))

        # Nothing was left of it.
        def skip(batch)
          progress.complete(batch.end_offset, batch.generation) unless @partition.topic.ordering
          finish(batch)
          return unless batch.kept.empty? && @instrumentation.listening?("consumer.skipped")

          @reports.publish("consumer.skipped", read: batch.records.size, dropped: batch.dropped, bytes: batch.bytes)
          nil
        end

        def failed(error, batch, messages)
          report(error, messages)
          return if given_up?(batch)

          settle(batch, (messages && @at_most_once) || @recovery.failed(error, batch, messages))
        end

        # A seek, or the partition's end, makes it void whether it worked.
        def given_up?(batch)
          inbox.leaving? || batch.generation != progress.generation
        end

        def finish(batch)
          @recovery.done if @unfinished
          @unfinished = nil
          @virtual.collapsed = false if @virtual
          @recovery.wait_for_left_over(batch)
          inbox.finish(batch)
          nil
        end

        # What keeps transactions from being committed lasts, and each attempt meets it again.
        def report(error, messages)
          return if error.is_a?(TransactionError) && !(@reminders ||= Reminders.new).due?(Transactions.reason(error), Clock.now)

          @reports.consume_failed(error, messages, attempt, isolating: !@unfinished.nil? && @recovery.isolating?)
        end

        # What was done behind the committed offset, by another member or before a restart.
        def recall
          @recalled = true
          progress.recall
        rescue Rdkafka::RdkafkaError => error
          @reports.error(error, "offset_metadata")
        end

        def event_failed(error, event)
          @reports.error(error, "consumer.#{event}") unless ForwardingError.load_of(error) # as {Reports#consume_failed}
        end

        def calls = [*@call, *@virtual&.calls]

        def call
          @call ||= ConsumerCall.new(@partition, progress)
        end
      end
    end
  end
end
