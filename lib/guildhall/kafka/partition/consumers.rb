# frozen_string_literal: true

require "guildhall/error_boundary"
require_relative "consumer_call"

module Guildhall
  module Kafka
    class Partition
      # The consumers of a partition: one for consumption in order, one for each virtual partition that was used, and one that tries parked
      # keys again. Each is made when it is first needed.
      # @api private
      class Consumers
        def initialize(partition)
          @partition = partition
          @calls = {}
          @lock = Mutex.new
        end

        # @param role [Symbol, Integer] :in_order, :key_retries, or the number of a virtual partition
        # @return [ConsumerCall]
        # @raise what the consumer's `initialized` raises
        def at(role)
          @calls[role] || ConsumerCall.new(@partition, shared: role != :in_order).tap do |call|
            @lock.synchronize { @calls[role] = call }
          end
        end

        # Calls a method of all consumers, but for that of {KeyRetries}.
        def dispatch(event, *arguments)
          contain(event) { at(:in_order) } if of_batches.empty?
          of_batches.each { |call| contain(event) { call.dispatch(event, *arguments) } }
        end

        # The partition is given up.
        # @param reason [Symbol] :revoked or :shutdown
        def leave(reason)
          [*of_batches, *@calls[:key_retries]].each do |call|
            contain(reason) { call.dispatch(reason) }
            @partition.runtime.left_threads.consumer_gone(call.threads, @partition) if reason == :revoked
          end
          @partition.reports.publish("consumer.#{reason}")
        end

        private

        # Without the one that tries parked keys again: it may be inside `consume` now, on another runner.
        def of_batches = @lock.synchronize { [*@calls[:in_order], *@calls.except(:in_order, :key_retries).values] }

        def contain(event, &) = ErrorBoundary.contain(->(error) { failed(error, event) }, &)

        def failed(error, event)
          @partition.reports.error(error, "consumer.#{event}") unless ForwardingError.load_of(error) # as {Reports#consume_failed}
        end
      end
    end
  end
end
