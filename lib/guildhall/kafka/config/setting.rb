# frozen_string_literal: true

require_relative "duration"

module Guildhall
  module Kafka
    class Config
      # A setting's name and what it may be.
      class Setting
        BOOLEAN = ->(value) { [true, false].include?(value) }
        POSITIVE = ->(value) { value.is_a?(Integer) && value.positive? }
        TEXT = ->(value) { value.is_a?(String) && !value.empty? }

        # @param name [Symbol]
        # @param zero [Boolean] whether 0 will do
        # @return [Setting] of seconds
        def self.duration(name, zero: false)
          new(name, nil, ->(value) { Duration.problem(value, zero:) })
        end

        # @return [Symbol]
        attr_reader :name

        # @param name [Symbol]
        # @param expected [String, nil] for the message
        # @param problem [#call, nil] given the value, says what is wrong with it
        # @yieldparam value [Object]
        # @yieldreturn [Boolean] whether the value will do
        def initialize(name, expected, problem = nil, &check)
          @name = name
          @problem = problem || ->(value) { "has to be #{expected}, not #{value.inspect}" unless check.call(value) }
        end

        # @param value [Object]
        # @param errors [Errors]
        # @param owner [String] the prefix of the name in the message
        # @return [void]
        def validate(value, errors, owner = "")
          problem = @problem.call(value)
          errors.add("#{owner}#{@name} #{problem}") if problem
        end
      end
    end
  end
end
