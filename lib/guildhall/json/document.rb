# frozen_string_literal: true

module Guildhall
  class JSON
    # A JSON object or array that is read where it lies: frozen, shareable, one object for the garbage collector
    # however large the text is. A field is made when it is asked for, and made again when it is asked for again.
    #
    # Neither a Hash nor an Array: {ObjectDocument} and {ArrayDocument} read like them, and become them by an
    # explicit `to_h` or `to_a`.
    class Document
      include Enumerable

      # @!method size
      #   @return [Integer] pairs or elements
      # @!method dig(key, *keys)
      #   Reads a field at any depth without making what lies between.
      #   @return [Object, nil]
      # @!method decode
      #   @return [Hash, Array] all of it, frozen
      # @!method source
      #   @return [String, nil] the bytes it was read from; nil where duplicate keys were left out

      # @!method detach
      #   @return [Document] the same contents with bytes of its own: for a small part that is kept long, which would
      #     keep the whole text alive

      alias length size

      # @param path [String, Path] a JSONPath such as `$.items[*].sku`; made once with {Path} where it is used often
      # @return [Array] frozen: every value it leads to
      def path(path)
        (path.is_a?(Path) ? path : Path.new(path)).of(self)
      end

      # @return [Boolean]
      def empty? = size.zero?

      # @return [Integer] without an argument and block: {#size}
      def count(*arguments, &)
        arguments.empty? && !block_given? ? size : super
      end

      # Documents of equal contents are `eql?` and have the same hash.
      def eql?(other)
        equal?(other) || (other.is_a?(self.class) && decode.eql?(other.decode))
      end

      # @return [Integer]
      def hash = decode.hash

      # @return [String] JSON: the bytes it was read from
      def to_json(*)
        source || JSON.encode(decode)
      end

      # @return [Hash, Array] for Rails: plain objects
      def as_json(*) = decode

      # @return [Document] itself: it cannot change
      def dup = self
      # @return [Document] itself
      def clone(**) = self

      # Shows the shape: scalars as they are, what is nested by its size.
      # @return [String]
      def inspect
        "#<#{self.class} #{shape}>"
      end
      alias to_s inspect

      # For `pp`: the whole contents.
      def pretty_print(printer)
        printer.group(2, "#<#{self.class}", ">") do
          printer.breakable
          printer.pp(decode)
        end
      end

      private

      SHOWN = 8 # fields or elements
      SHOWN_CHARACTERS = 60 # of a string
      private_constant :SHOWN, :SHOWN_CHARACTERS

      def brief(value)
        case value
        when ObjectDocument then value.empty? ? "{}" : "{… #{value.size}}"
        when ArrayDocument then value.empty? ? "[]" : "[… #{value.size}]"
        when String then value.length > SHOWN_CHARACTERS ? "#{value[0, SHOWN_CHARACTERS].inspect}…" : value.inspect
        else value.inspect
        end
      end
    end
  end
end
