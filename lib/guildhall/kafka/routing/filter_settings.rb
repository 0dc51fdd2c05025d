# frozen_string_literal: true

require_relative "../filtering/filters"
require_relative "topic"

module Guildhall
  module Kafka
    module Routing
      # The settings of a topic that decide about messages before the consumer sees them. Filters are called in the order of
      # their settings, with what those before them have left.
      module FilterSettings
        FILE = __FILE__

        # @param filter [Class, #call, nil] a class whose instances have `call(messages)` (one for each partition, as long as that
        #   is assigned), or an object with `call`, which all partitions share; nil: the block
        # @param arguments [Hash] keywords for the class
        def filter(filter = nil, **arguments, &block)
          source = filter || block
          name = (source.is_a?(Class) ? source : source.class).name || "filter"
          add_filter(source.is_a?(Proc) ? "block" : name, source, arguments)
        end

        # Lets through a number of messages of each partition in any period; what comes beyond that waits.
        # @param limit [Integer] messages
        # @param per [Numeric] seconds
        def throttle(limit: nil, per: nil, **unknown)
          refuse(__method__, unknown)
          add_filter("throttle", Filtering::Throttle, {limit:, per:})
        end

        # Each message waits until it is that old.
        def delay(seconds)
          add_filter("delay", Filtering::Delay, {seconds:})
        end

        # Messages that are older are not consumed.
        def expire(seconds)
          add_filter("expire", Filtering::Expire, {seconds:})
        end

        # Consumes some messages out of many.
        # @param rate [Numeric] 0.01: one in a hundred
        def sample(rate)
          add_filter("sample", Filtering::Sample, {rate:})
        end

        # Consumes messages with the same id once, as long as the id is among the last ones of the partition.
        # @param by [Symbol, #call] a method of {Message}, or what is called with a message; nil: it has no id, and is consumed
        # @param window [Integer] how many ids of a partition are remembered
        def deduplicate(by: nil, window: 10_000, **unknown)
          refuse(__method__, unknown)
          add_filter("deduplicate", Filtering::Deduplicate, {by:, window:})
        end

        private

        def add_filter(name, source, arguments)
          @settings[:filters] = [*@settings[:filters], Filter.new(name:, source:, arguments: arguments.freeze)].freeze
        end
      end
    end
  end
end
