# frozen_string_literal: true

module Guildhall
  class YAML
    # What is written of an object: data that the codec reads without an option, and objects of the classes that it permits.
    # @api private
    class Plain
      ADVICE = "name it in permitted_classes, or write what stands for it: a String, a number, a Hash"
      private_constant :ADVICE

      # @param aliases [Boolean] whether an object that occurs twice is the same one in what is written
      def initialize(permitted_classes:, permitted_symbols:, aliases:, max_nesting:, max_digits:)
        @classes = permitted_classes
        @symbols = permitted_symbols if permitted_classes.include?(Symbol)
        @max_nesting = max_nesting
        @max_digits = max_digits
        @made = {}.compare_by_identity if aliases
        @open = {}.compare_by_identity
        @special = false
      end

      # @return [Boolean] whether there was an object of a permitted class
      def special? = @special

      # @param object [Object] a Document counts as the Hash or Array that it represents
      # @raise [EncodeError]
      def of(object)
        object = Document.plain(object)
        case object
        when nil, true, false, Float then object
        when Integer then integer(object)
        when Symbol then symbol(object)
        when String then permitted(object) || text(object)
        when Hash, Array then permitted(object) || container(object)
        else permitted(object) || raise(EncodeError, "YAML: #{object.class} is no plain data: #{ADVICE}")
        end
      end

      private

      # Subclasses of plain data count as what they extend, unless they are permitted.
      def permitted(object)
        return unless @classes.include?(object.class)
        raise EncodeError, "YAML: #{Digits.refusal(@max_digits)}" if Digits.of(object) > @max_digits

        @special = true
        object
      end

      # Its digits are made only where there are not many more than the limit.
      def integer(number)
        digits = Digits.of(number)
        return number if digits < @max_digits || (digits == @max_digits && number.abs.to_s.size == digits)

        raise EncodeError, "YAML: #{Digits.refusal(@max_digits)}"
      end

      def symbol(symbol)
        return text(symbol.name) unless @symbols
        unless @symbols.empty? || @symbols.include?(symbol)
          raise EncodeError.new("YAML: a Symbol is not among permitted_symbols", excerpt: symbol.inspect)
        end

        @special = true
        symbol
      end

      def text(text)
        raise EncodeError.new("YAML: a text is not valid #{text.encoding}", excerpt: text) unless text.valid_encoding?
        return text if text.instance_of?(String) && text.encoding == Encoding::UTF_8 && text.instance_variables.empty?
        return String.new(text) if text.encoding == Encoding::BINARY && !text.ascii_only?

        text.encode(Encoding::UTF_8).then { |converted| String.new(converted) }
      rescue EncodingError => error
        raise EncodeError.new("YAML: #{Redaction.mask(error.message)}", excerpt: text)
      end

      def container(object)
        return @made[object] if @made&.key?(object)
        raise EncodeError, "YAML: nested deeper than max_nesting, #{@max_nesting}; does it contain itself?" if @open.size == @max_nesting
        raise EncodeError, "YAML: an object contains itself" if @open.key?(object)

        @open[object] = true
        made = object.is_a?(Hash) ? mapping(object) : object.map { |element| of(element) }
        @open.delete(object)
        @made[object] = made if @made
        made
      end

      def mapping(hash)
        made = {}
        hash.each { |key, value| made[of(key)] = of(value) }
        raise EncodeError, "YAML: two keys of a Hash are the same: write all of them as Strings, or as Symbols" if made.size != hash.size

        made
      end
    end
    private_constant :Plain
  end
end
