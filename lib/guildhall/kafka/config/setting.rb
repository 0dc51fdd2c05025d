# frozen_string_literal: true

module Guildhall
  module Kafka
    class Config
      # A setting's name and what it may be.
      class Setting
        # No duration here makes sense beyond a day: whoever writes one has thought in milliseconds.
        LONGEST = 86_400

        # @return [Symbol]
        attr_reader :name

        # @param name [Symbol]
        # @param expected [String] for the message
        # @param seconds [Boolean] whether it is a duration
        # @yieldparam value [Object]
        # @yieldreturn [Boolean] whether the value will do
        def initialize(name, expected, seconds: false, &check)
          @name = name
          @expected = expected
          @seconds = seconds
          @check = check || ->(value) { value.is_a?(Numeric) && value.positive? }
        end

        # @param value [Object]
        # @param faults [Faults]
        # @param owner [String] what stands before the name in the message
        # @return [void]
        def validate(value, faults, owner = "")
          if !@check.call(value)
            faults.add("#{owner}#{@name} has to be #{@expected}, not #{value.inspect}")
          elsif @seconds && value > LONGEST
            faults.add("#{owner}#{@name} is in seconds: #{value} looks like milliseconds")
          end
        end
      end
    end
  end
end
