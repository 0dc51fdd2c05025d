# frozen_string_literal: true

module Guildhall
  class Pipeline
    # Lets through the values for which the callable's answer is true; the others are {DROPPED}.
    class Select < Stage
      # @param callable [#call]
      # @param name [Symbol]
      def initialize(callable, name: :select)
        super
      end

      # (see Stage#call)
      def call(value, metadata = nil)
        answer(value, metadata) ? value : DROPPED
      end
    end
  end
end
