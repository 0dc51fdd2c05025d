# frozen_string_literal: true

module Guildhall
  class JSON
    # The options of a codec, and what they are when they are not given.
    #
    # - `symbolize_names` (false): object keys as Symbols
    # - `max_nesting` (100): how deep arrays and objects may be nested; deeper is an error, never a stack overflow
    # - `max_bytes` (64 MiB): longer texts are refused; a tape can take four times the text's length. At most
    #   268,435,455
    # - `max_digits` (10,000): integers of more digits are refused: what they take grows faster than their length. At least 17
    # - `decimal_class` (nil): what makes numbers with a fraction or exponent; nil: Float. Its results must be
    #   shareable. BigDecimal, Rational, or any class that answers to `try_convert` or `new` with the number's text
    # - `allow_nan` (false): NaN, Infinity and -Infinity
    # - `allow_duplicate_key` (false): the last of equal keys counts, at the place of the first
    # - `allow_invalid_utf8` (false): strings are taken as they are
    # - `allow_trailing_comma` (false): one comma before a closing bracket
    # - `allow_control_characters` (false): unescaped inside strings
    module Options
      BYTES_LIMIT = 268_435_455
      DEFAULTS = {
        symbolize_names: false, max_nesting: 100, max_bytes: 64 * 1024 * 1024, max_digits: 10_000, decimal_class: nil,
        allow_nan: false, allow_duplicate_key: false, allow_invalid_utf8: false, allow_trailing_comma: false,
        allow_control_characters: false
      }.freeze
      FLAGS = DEFAULTS.select { |_, value| value == false }.keys.freeze
      NESTING = (1..1_000_000)

      # @param given [Hash{Symbol=>Object}]
      # @return [Hash{Symbol=>Object}] every option
      # @raise [Guildhall::ArgumentError] naming every option that is wrong
      def self.check(given)
        errors = given.filter_map { |name, value| error(name, value) }
        raise Guildhall::ArgumentError, "Guildhall::JSON: #{errors.join("; ")}" if errors.any?

        DEFAULTS.merge(given)
      end

      # @param decimal_class [Module, nil]
      # @return [Array(Object, Symbol)] what to call with a number's text; nil, nil for Float
      def self.decimal(decimal_class)
        return [nil, nil] if decimal_class.nil? || decimal_class == Float
        return [decimal_class, :try_convert] if decimal_class.respond_to?(:try_convert)
        return [decimal_class, :new] if decimal_class.respond_to?(:new)

        [Kernel, decimal_class.name.to_sym] # BigDecimal, Rational
      end

      class << self
        private

        def error(name, value)
          return "unknown option #{name.inspect} (there are #{DEFAULTS.keys.join(", ")})" unless DEFAULTS.key?(name)
          return ("#{name} is true or false, not #{value.inspect}" unless [true, false].include?(value)) if FLAGS.include?(name)

          case name
          when :max_nesting then range_error(name, value, NESTING)
          when :max_bytes then range_error(name, value, 1..BYTES_LIMIT)
          when :max_digits then range_error(name, value, 17..BYTES_LIMIT)
          when :decimal_class then decimal_error(value)
          end
        end

        def range_error(name, value, range)
          return if value.is_a?(Integer) && range.cover?(value)

          "#{name} is an Integer from #{range.begin} to #{range.end}, not #{value.inspect}"
        end

        # Tries it: what cannot make a number of this would fail with every payload.
        def decimal_error(value)
          return if value.nil?
          return "decimal_class is a class, not #{value.inspect}" unless value.is_a?(Class)

          receiver, method = Options.decimal(value)
          made = receiver ? receiver.public_send(method, "1.5") : 1.5
          return "decimal_class: #{value} makes nothing of \"1.5\"" if made.nil?

          Ractor.make_shareable(made)
          nil
        rescue StandardError => error
          "decimal_class: #{value} cannot take \"1.5\": #{error.message}"
        end
      end
    end
  end
end
