# frozen_string_literal: true

module Guildhall
  module Kafka
    class Config
      # What may be a duration. All of ours are in seconds; Karafka's are in milliseconds, and a value that was copied from
      # there would wait a thousand times too long without a word.
      module Duration
        # An Integer beyond it is taken for milliseconds; written as a Float (`900.0`) it is taken at its word.
        MAX_INTEGER_SECONDS = 600
        # No duration here makes sense beyond a day.
        MAX_SECONDS = 86_400

        # @param value [Object]
        # @param zero [Boolean] whether 0 will do
        # @return [String, nil] what is wrong with it, to follow the setting's name; nil: nothing
        def self.problem(value, zero: false)
          unless value.is_a?(Numeric) && value.real? && value.to_f.finite? && (value.positive? || (zero && value.zero?))
            return "has to be seconds#{", or 0" if zero}, not #{value.inspect}"
          end
          return "is in seconds: #{value} looks like milliseconds" if value > MAX_SECONDS
          return unless value.is_a?(Integer) && value > MAX_INTEGER_SECONDS

          "is in seconds: #{value} looks like milliseconds (write #{value / 1000.0} for that, or #{value}.0 if seconds are meant)"
        end
      end
    end
  end
end
