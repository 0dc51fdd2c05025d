# frozen_string_literal: true

module Guildhall
  class Pipeline
    # Lets valid values through unchanged and raises {ValidationError} for the others.
    #
    # The callable answers true for what is valid and false or nil for what is not; or it answers an Array of faults,
    # empty for what is valid, and these become the error's message.
    class Validate < Stage
      # @param callable [#call]
      # @param name [Symbol]
      def initialize(callable, name: :validate)
        super
      end

      private

      # @raise [ValidationError]
      def judge(value, verdict)
        return value if verdict == true || (verdict.is_a?(Array) ? verdict.empty? : verdict)

        raise ValidationError.new(faults: verdict || [], stage: @name)
      end
    end
  end
end
