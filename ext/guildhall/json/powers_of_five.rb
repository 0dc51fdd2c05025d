# frozen_string_literal: true

# Writes powers_of_five.h when the extension is built: the first 128 bits of each power of five that a double can need, for
# reading and writing decimal floats.
module PowersOfFive
  FIRST = -342
  LAST = 324

  # @param path [String] where
  def self.write(path)
    rows = (FIRST..LAST).map do |exponent|
      bits = leading_bits(exponent)
      format("    {0x%016xull, 0x%016xull},", bits >> 64, bits & ((1 << 64) - 1))
    end
    File.write(path, <<~HEADER)
      /* Written by ext/guildhall/json/powers_of_five.rb. Not to be edited. */
      #include <stdint.h>

      #define POWER_OF_FIVE_FIRST (#{FIRST})
      #define POWER_OF_FIVE_LAST #{LAST}

      /* The first 128 bits of 5**exponent, high half first, cut off (-27 to -1: rounded up). */
      static const uint64_t powers_of_five[#{rows.size}][2] = {
      #{rows.join("\n")}
      };
    HEADER
  end

  # Reciprocals of powers below 2**64 are rounded up, the others are cut off: what the proof of correctness asks for.
  def self.leading_bits(exponent)
    return normalize(5**exponent) if exponent >= 0

    divisor = 5**-exponent
    return (1 << (divisor.bit_length + 127)) / divisor + 1 if exponent >= -27

    normalize((1 << (divisor.bit_length * 2 + 128)) / divisor + 1)
  end

  def self.normalize(value)
    value.bit_length > 128 ? value >> (value.bit_length - 128) : value << (128 - value.bit_length)
  end
end
