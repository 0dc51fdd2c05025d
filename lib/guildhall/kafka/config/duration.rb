# frozen_string_literal: true

require "guildhall/option_rules"

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

        # @param zero [Boolean] whether 0 will do
        def self.rule(zero: false)
          seconds = OptionRules.seconds(zero:)
          seconds.with(check: ->(value) { seconds.check.call(value) && (Duration.milliseconds(value) || true) })
        end

        # @return [String, nil] what to say of a number that looks like milliseconds
        def self.milliseconds(value)
          return "is in seconds: #{value} looks like milliseconds" if value > MAX_SECONDS
          return unless value.is_a?(Integer) && value > MAX_INTEGER_SECONDS

          "is in seconds: #{value} looks like milliseconds (write #{value / 1000.0} for that, or #{value}.0 if seconds are meant)"
        end

        RULE = rule
        RULE_WITH_ZERO = rule(zero: true)
      end
    end
  end
end
