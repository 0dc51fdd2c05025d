# frozen_string_literal: true

require_relative "unscaled"

module Guildhall
  class Avro
    class Logical
      # The logical type big-decimal, whose values say their scale themselves: the unscaled value (its length in bytes, then
      # the bytes), then the scale ↔ BigDecimal.
      # @api private
      module ScaledDecimal
        LONGEST = 1_024 # bytes: megabytes of digits would take minutes to become a BigDecimal
        SCALES = (-1_000_000..1_000_000)
        private_constant :LONGEST, :SCALES

        # @raise [MissingDependencyError] without the gem bigdecimal
        def self.load
          require "bigdecimal"
          require "bigdecimal/util"
          self
        rescue LoadError
          raise MissingDependencyError, "decimals need the gem bigdecimal: add it to the Gemfile"
        end

        # @return [String] for messages
        def self.expected = "big-decimal (no Rational, at most #{LONGEST} bytes)"

        def self.decode(bytes)
          length, rest = number(bytes)
          return unless length&.between?(1, [LONGEST, rest.bytesize].min)

          scale, after = number(rest.byteslice(length..))
          return unless scale && after.empty? && SCALES.cover?(scale)

          BigDecimal(Unscaled.read(rest.byteslice(0, length))).mult(BigDecimal("1e#{-scale}"), 0)
        end

        # @return [String, nil] nil if it is not a number, and for a Rational: it may be infinite
        def self.encode(value)
          return unless value.is_a?(Numeric) && value.real? && value.finite? && !value.is_a?(Rational)
          return if value.is_a?(Integer) && Digits.of(value) > Digits::MOST

          decimal = value.to_d
          decimal.zero? ? joined(0, 0) : unscaled(*decimal.split)
        end

        class << self
          private

          # Zeros at the end are digits where the scale would be beyond what can be read.
          def unscaled(sign, digits, _base, exponent)
            zeros = [SCALES.min - digits.length + exponent, 0].max
            scale = digits.length + zeros - exponent
            joined(sign * digits.to_i * (10**zeros), scale) if digits.length + zeros <= Digits::MOST && SCALES.cover?(scale)
          end

          def joined(number, scale)
            bytes = Unscaled.write(number)
            [long(bytes.bytesize), bytes, long(scale)].join if bytes.bytesize <= LONGEST
          end

          # A long as Avro writes it, and what follows; nil where there is none.
          def number(bytes)
            value = shift = 0
            bytes.each_byte.with_index(1) do |byte, count|
              value |= (byte & 127) << shift
              shift += 7
              return [(value >> 1) ^ -(value & 1), bytes.byteslice(count..)] if byte < 128
              break if count == 10
            end
            nil
          end

          def long(number)
            left = (number << 1) ^ (number >> 63)
            bytes = "".b
            while left > 127
              bytes << ((left & 127) | 128)
              left >>= 7
            end
            bytes << left
          end
        end
      end
    end
  end
end
