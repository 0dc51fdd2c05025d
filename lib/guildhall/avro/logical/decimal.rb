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
          freeze
        rescue LoadError
          raise MissingDependencyError, "decimals need the gem bigdecimal: add it to the Gemfile"
        end

        # @param bytes [String]
        # @return [BigDecimal]
        # @raise [ArgumentError] for no bytes at all, and for more than any number of the type can have
        def decode(bytes)
          raise ::ArgumentError, "no bytes" if bytes.empty?
          raise ::ArgumentError, "#{bytes.bytesize} bytes for a decimal of #{@precision} digits" if bytes.bytesize > @longest

          BigDecimal(Unscaled.read(bytes)).mult(BigDecimal("1e-#{@scale}"), 0)
        end

        # @param value [Numeric]
        # @return [String, nil] nil if it is not a number, or has more digits than the type
        def encode(value)
          return unless value.is_a?(Numeric) && value.real? && (decimal = to_decimal(value)).finite?

          scaled = decimal.mult(BigDecimal(10**@scale), 0)
          return unless scaled.frac.zero? && scaled.to_i.abs < 10**@precision

          Unscaled.write(scaled.to_i, @size)
        end

        private

        def to_decimal(value)
          value.is_a?(Rational) ? value.to_d(@precision + 1) : value.to_d
        end
      end
    end
  end
end
