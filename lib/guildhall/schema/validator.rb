# frozen_string_literal: true

module Guildhall
  class Schema
    # A compiled schema. Frozen and shareable: any number of Ractors may use it at once. Works on a JSON Document, and
    # on Hashes (with String or Symbol keys), Arrays and scalars.
    #
    # All methods but {#valid?} describe what is wrong as {Fault}s. All raise {LimitError} where there is no verdict.
    # None blocks.
    class Validator
      # Usually made by {Schema#validator}.
      # @param program [Program]
      # @param all [Boolean] see {#call}
      def initialize(program, all: false)
        @program = program
        @all = all
        freeze
      end

      # @param value [Object]
      # @return [Boolean]
      # @raise [LimitError]
      def valid?(value)
        @program.valid?(value)
      rescue Regexp::TimeoutError => error
        raise LimitError, "a pattern took too long: #{error.message}"
      end

      # For pipelines: valid values pass, the others become a ValidationError that says why.
      # @param value [Object]
      # @return [true, Array<Fault>] the first fault, or every one for a validator made with `all: true`
      # @raise [LimitError]
      def call(value)
        valid?(value) || (@all ? faults(value) : [fault(value)])
      end

      # @param value [Object]
      # @return [Array<Fault>] every fault; empty for what is valid
      # @raise [LimitError]
      def faults(value)
        describe(value, true)
      end

      # @param value [Object]
      # @return [Fault, nil] the first fault
      # @raise [LimitError]
      def fault(value)
        describe(value, false).first
      end

      # @param value [Object]
      # @return [Object] the value
      # @raise [ValidationError] with {Fault}s as its `faults`
      # @raise [LimitError]
      def validate!(value)
        verdict = call(value)
        verdict == true ? value : raise(ValidationError.new(faults: verdict))
      end

      # @return [Validator] one whose {#call} answers every fault
      def all
        @all ? self : Validator.new(@program, all: true)
      end

      private

      def describe(value, all)
        @program.faults(value, all).map { |raw| Fault.of(raw) }
      rescue Regexp::TimeoutError => error
        raise LimitError, "a pattern took too long: #{error.message}"
      end
    end
  end
end
