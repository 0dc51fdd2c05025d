# frozen_string_literal: true

require "guildhall/error_boundary"

module Guildhall
  module Kafka
    class Partition
      # Deals a batch's messages out to virtual partitions: equal answers of the user's partitioner go to the same one.
      class Partitioner
        # The virtual partition of messages for which the user's partitioner raises.
        UNKNOWN = :unknown

        # Stands for the key of a message that has none: it is ordered with no other.
        Keyless = Data.define(:offset)

        # @param concurrency [Integer] the default
        def initialize(settings, concurrency)
          @partitioner = settings.partitioner
          @reducer = settings.reducer
          @max = settings.max || concurrency
        end

        # @param indexes [Array<Integer>] of the messages' records
        # @yieldparam error [Exception] what the partitioner or the reducer raised
        # @yieldparam message [Message] for this one
        # @return [Hash{Integer, UNKNOWN=>Array<Integer>}] indexes by virtual partition
        def deal(messages, indexes)
          shares = Hash.new { |hash, number| hash[number] = [] }
          message = nil
          report = ->(error) { yield(error, message) }
          messages.each_with_index do |one, position|
            message = one
            shares[share(message, report)] << indexes[position]
          end
          shares
        end

        # The `hash` and `eql?` of a key may raise, as the partitioner may. They are called here alone: who gets a key from here compares it
        # by identity.
        # @param indexes [Array<Integer>] of the messages' records
        # @param parked [Array<Object>] keys of earlier batches, which take the place of those that are equal
        # @yield as in {#deal}
        # @return [Hash{Object=>Array<Integer>}] indexes by key: what the user's partitioner answers
        def keys(messages, indexes, parked = [])
          keys = {}
          message = messages.first
          report = ->(error) { yield(error, message) }
          parked.each { |key| ErrorBoundary.contain(report) { keys[key] = [] } }
          messages.each_with_index do |one, position|
            message = one
            own = ErrorBoundary.contain(report) { keys[key(message)] ||= [] } || (keys[UNKNOWN] ||= [])
            own << indexes[position]
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

        def key(message)
          answer = @partitioner.call(message)
          answer.nil? ? Keyless.new(message.offset) : answer
        end

        def share(message, report)
          ErrorBoundary.contain(report) { number(@partitioner.call(message)) } || UNKNOWN
        end

        def number(answer)
          Integer(@reducer ? @reducer.call(answer) : answer.hash) % @max
        end
      end
    end
  end
end
