# frozen_string_literal: true

module Guildhall
  class JSON
    # A JSON array read where it lies. Reads like an Array; what is nested comes as a Document.
    class ArrayDocument < Document
      # @!method at(position)
      #   @return [Object, nil]
      # @!method [](position)
      #   @param position [Integer, Range] as Array#[] takes it, also with a length
      #   @return [Object, Array, nil]
      # @!method each
      #   @yield [element]
      #   @return [self, Enumerator]
      # @!method elements
      #   @return [Array] frozen; what is nested as Documents

      alias slice []
      alias deconstruct elements

      # @return [Object]
      # @raise [IndexError] when there is no such element, no default and no block
      def fetch(position, *default)
        return self[position] if position >= -size && position < size
        return yield(position) if block_given?
        raise IndexError, "index #{position} outside of array bounds: #{-size}...#{size}" if default.empty?

        default.first
      end

      # @return [Array] all of it, frozen
      def to_a = decode
      alias entries to_a

      # @return [Object, Array]
      def first(*count)
        count.empty? ? self[0] : super
      end

      # @return [Object, Array]
      def last(*count)
        count.empty? ? self[-1] : elements.last(*count)
      end

      # @return [Array]
      def values_at(*positions) = elements.values_at(*positions)

      # @return [self, Enumerator]
      def each_index(&)
        return to_enum(:each_index) { size } unless block_given?

        size.times(&)
        self
      end

      # @return [Boolean] the same elements as an Array or another Document
      def ==(other)
        case other
        when ArrayDocument then equal?(other) || elements == other.elements
        when Array then elements == other
        else false
        end
      end

      private

      def shape
        shown = first(SHOWN).map { |element| brief(element) }
        shown << "… #{size - SHOWN} more" if size > SHOWN
        "[#{shown.join(", ")}]"
      end
    end
  end
end
