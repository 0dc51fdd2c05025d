# frozen_string_literal: true

module Guildhall
  # How many digits a number has when it is written out, without an exponent. What Ruby makes of more than some thousands
  # of digits takes longer than in proportion to them and cannot be interrupted; and an exponent stands for thousands of
  # millions of digits in a few bytes. So whatever makes numbers of a payload, or digits of a number, has a limit, and the
  # setting is called `max_digits` everywhere. (JSON's parser counts in C: `guildhall_json_written_digits`.)
  # @api private
  module Digits
    # The default of `max_digits`.
    MOST = 10_000
    # The least: machine numbers are not counted.
    RANGE = 17..268_435_455
    # A number that fits all payloads of a day has fewer digits than this exponent has.
    EXPONENT_DIGITS = 10
    DIGITS_A_BIT = Math.log10(2)
    INTEGER_BYTES = 20
    private_constant :EXPONENT_DIGITS, :DIGITS_A_BIT, :INTEGER_BYTES

    class << self
      # @param text [String] of a number in decimal, with or without a point and an exponent
      # @return [Integer, Float] infinite for an exponent that is not worth reading
      def in_text(text)
        mantissa, exponent = text.split(/[ed]/iu, 2)
        whole, fraction = mantissa.to_s.split(".", 2)
        written(whole.to_s.sub(/\A[-+0_]+/u, "").count("0-9"), fraction.to_s.count("0-9"), exponent.to_s)
      end

      # An Integer that fits 64 bits, such as headers of messages have.
      # @return [Integer, nil] nil for what is no such text
      def integer(text) = (Integer(text, 10, exception: false) if text.is_a?(String) && text.bytesize <= INTEGER_BYTES)

      # @return [Integer] its digits; of an Integer, for whose digits they would have to be made, no more than it has; 0 for a
      #   Float, and for a number of another class
      def of(number)
        case number
        when Integer then ((number.bit_length - 1).clamp(0..) * DIGITS_A_BIT).floor + 1
        when Rational then [of(number.numerator), of(number.denominator)].max
        else decimal?(number) ? of_decimal(number) : 0
        end
      end

      # @return [Boolean] whether it is a BigDecimal, and not NaN or infinite
      def decimal?(number) = number.class.name == "BigDecimal" && number.finite?

      # @return [String] why a number is refused
      def refusal(most) = "a number that has, written out, more digits than max_digits, #{most}"

      private

      def written(whole, fraction, exponent)
        digits = exponent.delete("^0-9").sub(/\A0+/u, "")
        return Float::INFINITY if digits.size > EXPONENT_DIGITS

        shift = exponent.start_with?("-") ? -digits.to_i : digits.to_i
        [whole + shift, 1].max + [fraction - shift, 0].max
      end

      def of_decimal(number)
        exponent = number.exponent
        [exponent, 1].max + [number.n_significant_digits - exponent, 0].max
      end
    end
  end
  private_constant :Digits
end
