# frozen_string_literal: true

require_relative "../digits"
require_relative "../option_rules"

module Guildhall
  class JSON
    # The options of a codec, and what they are when they are not given.
    #
    # - `symbolize_names` (false): object keys as Symbols
    # - `max_nesting` (100): how deep arrays and objects may be nested; deeper is an error, never a stack overflow
    # - `max_bytes` (64 MiB): longer texts are refused; a tape can take four times the text's length. At most
    #   268,435,455
    # - `max_digits` (10,000): integers of more digits are refused, and so are, with a `decimal_class`, numbers that have more
    #   digits when they are written out without an exponent: what they take grows faster than the payload. At least 17.
    #   Encoding refuses them too
    # - `decimal_class` (nil): what makes numbers with a fraction or exponent; nil: Float. Its results must be
    #   shareable. BigDecimal, Rational, or any class that answers to `try_convert` or `new` with the number's text
    # - `allow_nan` (false): NaN, Infinity and -Infinity
    # - `allow_duplicate_key` (false): the last of equal keys counts, at the place of the first
    # - `allow_invalid_utf8` (false): strings are taken as they are
    # - `allow_trailing_comma` (false): one comma before a closing bracket
    # - `allow_control_characters` (false): unescaped inside strings
    # @api private
    module Options
      BYTES_LIMIT = 268_435_455
      DEFAULTS = {
        symbolize_names: false, max_nesting: 100, max_bytes: 64 * 1024 * 1024, max_digits: Digits::MOST, decimal_class: nil,
        allow_nan: false, allow_duplicate_key: false, allow_invalid_utf8: false, allow_trailing_comma: false,
        allow_control_characters: false
      }.freeze

      # @param owner [Class] which takes them
      # @return [Hash{Symbol=>Object}] every option
      # @raise [Guildhall::ArgumentError] naming every option that is wrong
      def self.check(given, owner = JSON)
        DEFAULTS.merge(RULES.check!(given, owner: owner.name, beside: owner))
      end

      # @return [Array(Object, Symbol)] what to call with a number's text; nil, nil for Float
      def self.decimal(decimal_class)
        return [nil, nil] if decimal_class.nil? || decimal_class == Float
        return [decimal_class, :try_convert] if decimal_class.respond_to?(:try_convert)
        return [decimal_class, :new] if decimal_class.respond_to?(:new)

        [Kernel, decimal_class.name.to_sym] # BigDecimal, Rational
      end

      # Tries it: what cannot make a number of this would fail with every payload.
      def self.try_decimal(decimal_class)
        receiver, method = decimal(decimal_class)
        made = receiver ? receiver.public_send(method, "1.5") : 1.5
        return "#{decimal_class} makes nothing of \"1.5\"" if made.nil?

        Ractor.make_shareable(made)
        true
      rescue StandardError => error
        "#{decimal_class} cannot take \"1.5\": #{error.message}"
      end
      private_class_method :try_decimal

      RULES = OptionRules.new(
        **DEFAULTS.select { |_, value| value == false }.transform_values { OptionRules.boolean },
        max_nesting: OptionRules.integer(1..1_000_000), max_bytes: OptionRules.integer(1..BYTES_LIMIT),
        max_digits: OptionRules.integer(Digits::RANGE),
        decimal_class: OptionRules.rule("a class") { |value| value.is_a?(Class) && try_decimal(value) }.or(nil)
      )
      private_constant :RULES
    end
  end
end
