# frozen_string_literal: true

module Guildhall
  class Pipeline
    # Lets valid values through unchanged and raises {ValidationError} for the others.
    #
    # The callable answers true for what is valid and false or nil for what is not; an Enumerable of errors, empty for what is
    # valid (an Array, json_schemer's Enumerator, a Hash of messages); or a result with `success?` or `errors`, as
    # dry-validation and Active Model have them. They become the {ValidationError}'s `errors`. Any other answer, which
    # may be a value where a verdict was meant, is an error and no verdict.
    class Validate < Stage
      def initialize(callable, name: :validate)
        super
      end

      private

      # @raise [ValidationError]
      # @raise [Guildhall::ArgumentError] for an answer that is not a verdict
      def judge(value, answer)
        # The usual answers for what is valid; Verdict says the same, and takes longer.
        return value if true.equal?(answer) || (answer.instance_of?(Array) && answer.empty?)

        errors = Verdict.errors(answer) { |other| raise Guildhall::ArgumentError, no_verdict(other) }
        errors ? raise(ValidationError.new(errors:, stage: @name)) : value
      end

      def no_verdict(answer)
        "#{@name}: the callable answered a #{answer.class}; it answers true or false, an Enumerable of errors, or a result " \
          "with success? or errors"
      end
    end
  end
end
