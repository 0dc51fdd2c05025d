# frozen_string_literal: true

require_relative "unscaled"

module Guildhall
  class Avro
    class Logical
      # Big-endian two's complement of the unscaled value ↔ BigDecimal.
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

        # @param bytes [String]
        # @return [BigDecimal, nil] nil for no bytes at all, and for more than any number of the type can have
        def decode(bytes)
          return unless bytes.bytesize.between?(1, @longest)

          BigDecimal(Unscaled.read(bytes)).mult(@unit, 0)
        end

        # @param value [Numeric]
        # @return [String, nil] nil if it is not a number, or has more digits than the type
        def encode(value)
          return unless value.is_a?(Numeric) && value.real? && value.finite? && Digits.of(value) <= DIGITS + 1 # 10**-DIGITS as a Rational

          decimal = to_decimal(value)
          Unscaled.write(decimal.mult(@ones, 0).to_i, @size) if fits?(decimal)
        end

        private

        # No more digits after the point than the scale, and in all than the precision: before they are made.
        def fits?(decimal)
          return true if decimal.zero?

          decimal.n_significant_digits - decimal.exponent <= @scale && decimal.exponent + @scale <= @precision
        end

        def to_decimal(value)
          value.is_a?(Rational) ? value.to_d(@precision + 1) : value.to_d
        end
      end
    end
  end
end
