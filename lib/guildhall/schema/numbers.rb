# frozen_string_literal: true

require_relative "../digits"

module Guildhall
  class Schema
    # Arithmetic that has to be exact in decimal, which machine numbers are not. A number is taken apart into a numerator, a
    # power of ten and a denominator: what an exponent stands for is never written out.
    module Numbers
      class << self
        # @return [Boolean] whether no remainder is left: 0.3 is a multiple of 0.1
        # @raise [LimitError] for more digits
        def multiple?(number, divisor, max_digits = Digits::MOST)
          return false unless number.finite?

          numerator, power, denominator = parts(number, max_digits)
          other_numerator, other_power, other_denominator = parts(divisor, max_digits)
          divisible?(numerator * other_denominator, power - other_power, denominator * other_numerator)
        end

        # @param number [Numeric] a whole one
        # @raise [LimitError] for more digits
        def residue(number, modulus, max_digits = Digits::MOST)
          numerator, power, = parts(number, max_digits)
          return numerator % modulus if power.zero?
          return numerator / (10**-power) % modulus if power.negative?

          (numerator % modulus) * 10.pow(power, modulus) % modulus
        end

        private

        # A Float is its shortest decimal: what was written, where it had 17 digits at most.
        def parts(number, max_digits)
          return decimal(number, max_digits) if Digits.decimal?(number)

          rational = number.is_a?(Float) ? Rational(number.to_s) : number.to_r
          refuse(max_digits) if Digits.of(rational) > max_digits
          [rational.numerator, 0, rational.denominator]
        end

        def decimal(number, max_digits)
          sign, digits, _, exponent = number.split
          refuse(max_digits) if digits.size > max_digits
          [sign * digits.to_i, exponent - digits.size, 1]
        end

        # Is numerator × 10**power a multiple of the divisor?
        def divisible?(numerator, power, divisor)
          return true if numerator.zero?
          return ((numerator % divisor) * 10.pow(power, divisor) % divisor).zero? unless power.negative?

          -power <= Digits.of(numerator) && (numerator % (divisor * (10**-power))).zero?
        end

        def refuse(max_digits)
          raise LimitError, "validation stopped: a number of more digits than max_digits, #{max_digits}; raise max_digits: " \
                            "of the schema if such numbers are meant to be divided"
        end
      end
    end
  end
end
