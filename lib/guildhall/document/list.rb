# frozen_string_literal: true

require_relative "../document"

module Guildhall
  module Document
    # A Document that reads like an Array; what is nested comes as a Document.
    module List
      include Document

      def self.included(base) = base.extend(Loading)

      def slice(*arguments) = self[*arguments]

      # For pattern matching.
      def deconstruct = elements

      # @raise [IndexError] when there is no such element, no default and no block
      def fetch(position, *default, &)
        return self[position] if default.size < 2 && position.is_a?(Integer) && position >= -size && position < size

        elements.fetch(position, *default, &)
      end

      # @return [Array] all of it, frozen
      def to_a = decode
      alias entries to_a
      # Ruby asks for it: `a, b = document`, `each { |longitude, latitude| … }`, `[1] + document`, `puts`, `flatten`.
      alias to_ary to_a

      # @return [Hash] as Array#to_h
      def to_h(&) = elements.to_h(&)

      def first(*count)
        count.empty? ? self[0] : super
      end

      def last(*count)
        count.empty? ? self[-1] : elements.last(*count)
      end

      # @return [Array, nil] as Array#zip, which gives a block one Array
      def zip(...) = elements.zip(...)

      def reverse_each(&)
        return to_enum(:reverse_each) { size } unless block_given?

        elements.reverse_each(&)
        self
      end

      def values_at(*positions) = elements.values_at(*positions)

      def fetch_values(*positions, &) = positions.map { |position| fetch(position, &) }

      def index(...) = find_index(...)
      def rindex(...) = elements.rindex(...)

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
        else other.respond_to?(:to_ary) && other == decode
        end
      end

      # @return [Integer, nil] as Array#<=>
      def <=>(other) = decode <=> other

      # For Psych.
      # @api private
      def encode_with(coder)
        coder.represent_seq(nil, Document.unshared(self))
        coder.implicit = true
      end

      private

      def plain_class = ::Array

      def shape
        shown = first(SHOWN).map { |element| brief(element) }
        shown << "… #{size - SHOWN} more" if size > SHOWN
        "[#{shown.join(", ")}]"
      end
    end
  end
end
