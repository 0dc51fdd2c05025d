# frozen_string_literal: true

require_relative "../digits"

module Guildhall
  class JSON
    # What {JSON.encode} writes of objects that JSON has no form for.
    # @api private
    module Foreign
      # Active Support's `to_json` works in the main Ractor only, because of what it remembers; its `as_json` works in all.
      # @return [Object] something that JSON has a form for; the object itself where its class says by a `to_json` of its own
      def self.plain(object)
        return object if own_form?(object)
        return object.to_s("E") if long?(object)

        made = Object.method_defined?(:as_json) ? object.as_json : object.to_s
        made.equal?(object) ? object.to_s : made
      end

      # @return [String, nil] its digits; nil: they have no end
      def self.digits(number)
        rest = number.denominator
        twos = (rest & -rest).bit_length - 1
        rest >>= twos
        fives = 0
        (rest /= 5) && (fives += 1) while (rest % 5).zero?
        return unless rest == 1

        places = [twos, fives, 1].max
        text = (number.abs * (10**places)).numerator.to_s.rjust(places + 1, "0")
        "#{"-" if number.negative?}#{text[0...-places]}.#{text[-places..]}"
      end

      # Not Object's, which the json gem or Active Support gave it.
      def self.own_form?(object)
        return false unless object.respond_to?(:to_json)

        !Object.method_defined?(:to_json) || object.method(:to_json).owner != Object.instance_method(:to_json).owner
      end

      # With Active Support the text of a BigDecimal is written out: what its exponent stands for can be gigabytes.
      def self.long?(object) = Digits.decimal?(object) && object.exponent.abs > Digits::MOST
      private_class_method :own_form?, :long?
    end
    private_constant :Foreign
  end
end
