# frozen_string_literal: true

module Guildhall
  class Schema
    # A compiled schema. Frozen and shareable: any number of Ractors may use it at once. Works on a JSON Document, and
    # on Hashes (with String or Symbol keys), Arrays and scalars.
    #
    # All methods but {#valid?} describe what is wrong as {ErrorDetail}s. All raise {LimitError} where there is no verdict.
    # None blocks.
    class Validator
      # Usually made by {Schema#validator}.
      # @param all [Boolean] see {#call}
      def initialize(program, all: false)
        @program = program
        @all = all
        freeze
      end

      # @raise [LimitError]
      def valid?(value)
        @program.valid?(value)
      rescue Regexp::TimeoutError => error
        raise LimitError, "a pattern took too long: #{error.message}"
      end

      # For pipelines: valid values pass, the others become a ValidationError that says why.
      # @return [true, Array<ErrorDetail>] the first error, or every one for a validator made with `all: true`
      # @raise [LimitError]
      def call(value)
        valid?(value) || (@all ? errors(value) : [error(value)])
      end

      # @return [Array<ErrorDetail>] every error; empty for what is valid
      # @raise [LimitError]
      def errors(value)
        describe(value, true)
      end

      # @return [ErrorDetail, nil] the first error
      # @raise [LimitError]
      def error(value)
        describe(value, false).first
      end

      # @return [Object] the value
      # @raise [ValidationError] with {ErrorDetail}s as its `errors`
      # @raise [LimitError]
      def validate!(value)
        verdict = call(value)
        verdict == true ? value : raise(ValidationError.new(errors: verdict))
      end

      # @return [Validator] one whose {#call} answers every error
      def all
        @all ? self : Validator.new(@program, all: true)
      end

      private

      def describe(value, all)
        @program.errors(value, all).map { |raw| ErrorDetail.of(raw) }
      rescue Regexp::TimeoutError => error
        raise LimitError, "a pattern took too long: #{error.message}"
      end
    end
  end
end
