# frozen_string_literal: true

require_relative "unscaled"

module Guildhall
  class Avro
    class Logical
      # Big-endian two's complement of the unscaled value ↔ BigDecimal.
      # @api private
      class Decimal
        # Numbers may be padded; but megabytes of digits would take minutes to become a BigDecimal.
        PADDED = 1_024 # bytes
        private_constant :PADDED

        # @param precision [Integer] digits in all
        # @param scale [Integer] digits after the point
        # @param size [Integer, nil] bytes of a fixed; nil: as many as it takes
        # @raise [MissingDependencyError] without the gem bigdecimal
        def initialize(precision, scale, size)
          require "bigdecimal"
          require "bigdecimal/util"
          @precision = precision
          @scale = scale
          @size = size
          @longest = [precision, PADDED].max
          @ones = BigDecimal(10**scale) # in the smallest unit
          @unit = BigDecimal("1e-#{scale}")
          freeze
        rescue LoadError
          raise MissingDependencyError, "decimals need the gem bigdecimal: add it to the Gemfile"
        end

        # @return [String] for messages
        def expected = "decimal of precision #{@precision} and scale #{@scale}"

        # @return [BigDecimal, nil] nil for no bytes at all, and for more than any number of the type can have
        def decode(bytes)
          return unless bytes.bytesize.between?(1, @longest)

          BigDecimal(Unscaled.read(bytes)).mult(@unit, 0)
        end

        # @return [String, nil] nil if it is not a number, or has more digits than the type
        def encode(value)
          return unless value.is_a?(Numeric) && value.real? && value.finite? && Digits.of(value) <= DIGITS + 1 # 10**-DIGITS as a Rational

          units = value.is_a?(Rational) ? units_of_rational(value) : units_of(value.to_d)
          Unscaled.write(units, @size) if units
        end

        private

        # No more digits after the point than the scale, and in all than the precision: before they are made.
        def units_of(decimal)
          return 0 if decimal.zero?
          return if decimal.n_significant_digits - decimal.exponent > @scale || decimal.exponent + @scale > @precision

          decimal.mult(@ones, 0).to_i
        end

        def units_of_rational(value)
          units = value * @ones.to_i
          units.numerator if units.denominator == 1 && units.abs < 10**@precision
        end
      end
    end
  end
end
