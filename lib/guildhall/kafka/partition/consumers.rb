# frozen_string_literal: true

require "guildhall/error_boundary"
require_relative "consumer_call"

module Guildhall
  module Kafka
    class Partition
      # The consumers of a partition: one for consumption in order, one for each virtual partition that was used, and one that tries parked
      # keys again. Each is made when it is first needed.
      class Consumers
        def initialize(partition)
          @partition = partition
          @calls = {}
          @lock = Mutex.new
        end

        # @param place [Symbol, Integer] :in_order, :key_retries, or the number of a virtual partition
        # @return [ConsumerCall]
        # @raise what the consumer's `initialized` raises
        def at(place)
          @calls[place] || create(place)
        end

        # @param event [Symbol] a method of the consumer
        # @param arguments [Array] of that method
        def dispatch(event, *arguments)
          report = ->(error) { failed(error, event) }
          ErrorBoundary.contain(report) { at(:in_order) } if @calls.empty?
          all.each { |call| ErrorBoundary.contain(report) { call.dispatch(event, *arguments) } }
        end

        # The partition is given up.
        # @param reason [Symbol] :revoked or :shutdown
        def leave(reason)
          dispatch(reason) unless @calls.empty?
          @partition.reports.publish("consumer.#{reason}")
        end

        private

        def create(place)
          call = ConsumerCall.new(@partition, @partition.progress, shared: place != :in_order)
          @lock.synchronize { @calls[place] = call }
        end

        # The one for consumption in order first.
        def all = @lock.synchronize { @calls.sort_by { |place, _| place == :in_order ? 0 : 1 }.map(&:last) }

        def failed(error, event)
          @partition.reports.error(error, "consumer.#{event}") unless ForwardingError.load_of(error) # as {Reports#consume_failed}
        end
      end
    end
  end
end
