# frozen_string_literal: true

require_relative "../document"

module Guildhall
  module Document
    # A Document that reads like an Array; what is nested comes as a Document.
    module List
      include Document

      # @return [Object, Array, nil]
      def slice(*arguments) = self[*arguments]

      # For pattern matching.
      # @return [Array]
      def deconstruct = elements

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

      # @return [Array]
      def fetch_values(*positions, &) = positions.map { |position| fetch(position, &) }

      # @return [Integer, nil]
      def index(...) = find_index(...)
      # @return [Integer, nil]
      def rindex(...) = elements.rindex(...)

      # @return [String] as Array#join makes it
      def join(...) = to_a.join(...)
      # @return [Array] as Array#flatten makes it
      def flatten(...) = to_a.flatten(...)
      # @return [Array]
      def reverse = elements.reverse
      # @return [Object, Array]
      def sample(...) = elements.sample(...)

      # @param other [Array, List]
      # @return [Array]
      def +(other) = elements + plain(other)
      # @return [Array]
      def -(other) = elements - plain(other)
      # @return [Array]
      def &(other) = elements & plain(other)
      # @return [Array]
      def |(other) = elements | plain(other)
      # @return [Boolean]
      def intersect?(other) = elements.intersect?(plain(other))

      # @return [self, Enumerator]
      def each_index(&)
        return to_enum(:each_index) { size } unless block_given?

        size.times(&)
        self
      end

      # @return [Boolean] the same elements as an Array or another Document
      def ==(other)
        case other
        when List then equal?(other) || elements == other.elements
        when Array then elements == other
        else false
        end
      end

      private

      def plain(other) = other.is_a?(List) ? other.elements : other

      def shape
        shown = first(SHOWN).map { |element| brief(element) }
        shown << "… #{size - SHOWN} more" if size > SHOWN
        "[#{shown.join(", ")}]"
      end
    end
  end
end
