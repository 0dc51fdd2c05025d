# frozen_string_literal: true

require "guildhall/error_boundary"

module Guildhall
  module Kafka
    class Partition
      # Deals a batch's messages out to virtual partitions: equal answers of the user's partitioner go to the same one.
      # @api private
      class Partitioner
        # The virtual partition of messages for which the user's partitioner raises.
        UNKNOWN = :unknown

        # Stands for the key of a message that has none: it is ordered with no other.
        Keyless = Data.define(:offset)

        # @param concurrency [Integer] how many there are where the route does not say
        def initialize(settings, concurrency)
          @partitioner = settings.partitioner
          @reducer = settings.reducer
          @max = settings.max || concurrency
        end

        # @param indexes [Array<Integer>] of the messages' records
        # @yieldparam error [Exception] what the partitioner or the reducer raised
        # @yieldparam message [Message] for this one
        # @return [Hash{Integer, UNKNOWN=>Array<Integer>}] indexes by virtual partition
        def deal(messages, indexes, &report)
          group(messages, indexes, {}, report) { |message| number(@partitioner.call(message)) }
        end

        # The `hash` and `eql?` of a key may raise, as the partitioner may. They are called here alone: who gets a key from here compares it
        # by identity.
        # @param parked [Array<Object>] keys of earlier batches, which take the place of those that are equal
        # @yield as in {#deal}
        # @return [Hash{Object=>Array<Integer>}] indexes by key: what the user's partitioner answers
        def keys(messages, indexes, parked = [], &report)
          keys = {}
          parked.each { |key| ErrorBoundary.contain(->(error) { report.call(error, messages.first) }) { keys[key] = [] } }
          group(messages, indexes, keys, report) do |message|
            answer = @partitioner.call(message)
            answer.nil? ? Keyless.new(message.offset) : answer
          end
          keys.reject { |_, own| own.empty? }
        end

        # @param key [Object] as {#keys} has it
        # @yieldparam error [Exception] what the reducer raised
        # @return [Integer, UNKNOWN] its virtual partition
        def number_of(key, &report)
          return key.offset % @max if key.is_a?(Keyless)
          return UNKNOWN if UNKNOWN.equal?(key)

          ErrorBoundary.contain(report) { number(key) } || UNKNOWN
        end

        private

        # @yieldreturn [Object] the group of a message; where that raises, or the answer does as a key of the groups: {UNKNOWN}
        def group(messages, indexes, groups, report)
          message = nil
          failed = ->(error) { report.call(error, message) }
          messages.each_with_index do |one, position|
            message = one
            own = ErrorBoundary.contain(failed) { groups[yield(message)] ||= [] } || (groups[UNKNOWN] ||= [])
            own << indexes[position]
          end
          groups
        end

        def number(answer)
          Integer(@reducer ? @reducer.call(answer) : answer.hash) % @max
        end
      end
    end
  end
end
