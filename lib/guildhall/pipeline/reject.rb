# frozen_string_literal: true

module Guildhall
  class Pipeline
    # Lets through the values for which the callable's answer is false or nil; the others are {DROPPED}.
    class Reject < Stage
      # @param callable [#call]
      # @param name [Symbol]
      def initialize(callable, name: :reject)
        super
      end

      # (see Stage#call)
      def call(value, metadata = nil)
        answer(value, metadata) ? DROPPED : value
      end
    end
  end
end
