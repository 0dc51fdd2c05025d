# frozen_string_literal: true

module Guildhall
  module Kafka
    module Filtering
      # Of messages with the same id only the first is consumed, as long as its id is among the last ones of its partition.
      class Deduplicate
        # @param by [#to_proc, #call] given a message, returns its id; nil: it has none, and is consumed
        # @param window [Integer] how many ids are remembered
        def initialize(by:, window:)
          @by = by.respond_to?(:call) ? by : by.to_proc
          @window = window
          @offsets = {}
        end

        def call(messages)
          messages.reject! { |message| duplicate?(message) }
        end

        private

        # A message that comes again, after a seek or because a later filter has made it wait, is no duplicate of itself.
        def duplicate?(message)
          id = @by.call(message)
          return false if id.nil?

          first = @offsets[id]
          return true if first && first < message.offset

          @offsets.delete(id)
          @offsets[id] = message.offset
          @offsets.shift if @offsets.size > @window
          false
        end
      end
    end
  end
end
