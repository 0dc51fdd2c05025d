# frozen_string_literal: true

module Guildhall
  class Schema
    # Arithmetic that has to be exact in decimal, which machine numbers are not.
    module Numbers
      # @param number [Numeric]
      # @param divisor [Numeric]
      # @return [Boolean] whether no remainder is left: 0.3 is a multiple of 0.1
      def self.multiple?(number, divisor)
        return false if number.is_a?(Float) && !number.finite?

        (rational(number) % rational(divisor)).zero?
      end

      # A Float by its shortest decimal: what was written, where it had 17 digits at most.
      def self.rational(number)
        number.is_a?(Float) ? Rational(number.to_s) : number.to_r
      end
      private_class_method :rational
    end
  end
end
