# frozen_string_literal: true

module Guildhall
  class Avro
    class Logical
      # Big-endian two's complement of the unscaled value ↔ BigDecimal.
      class Decimal
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
          freeze
        rescue LoadError
          raise MissingDependencyError, "decimals need the gem bigdecimal: add it to the Gemfile"
        end

        # @param bytes [String]
        # @return [BigDecimal]
        # @raise [ArgumentError] for no bytes at all
        def decode(bytes)
          raise ::ArgumentError, "no bytes" if bytes.empty?

          unscaled = bytes.unpack1("H*").to_i(16)
          unscaled -= 1 << (8 * bytes.bytesize) if bytes.getbyte(0) > 127
          BigDecimal(unscaled).mult(BigDecimal("1e-#{@scale}"), 0)
        end

        # @param value [Numeric]
        # @return [String, nil] nil for what is no number, or has more digits than the type
        def encode(value)
          return unless value.is_a?(Numeric) && (decimal = to_decimal(value)).finite?

          scaled = decimal.mult(BigDecimal(10**@scale), 0)
          return unless scaled.frac.zero? && scaled.to_i.abs < 10**@precision

          bytes(scaled.to_i)
        end

        private

        def to_decimal(value)
          value.is_a?(Rational) ? value.to_d(@precision + 1) : value.to_d
        end

        def bytes(number)
          width = @size || [((number.negative? ? ~number : number).bit_length / 8) + 1, 1].max
          return if number.bit_length >= 8 * width

          [(number & ((1 << (8 * width)) - 1)).to_s(16).rjust(2 * width, "0")].pack("H*")
        end
      end
    end
  end
end
