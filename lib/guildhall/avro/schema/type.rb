# frozen_string_literal: true

module Guildhall
  class Avro
    class Schema
      # One type of a schema. Types refer to each other, and a recursive one to itself: they are completed by the
      # parser, then frozen together.
      class Type
        PRIMITIVES = %i[null boolean int long float double bytes string].freeze
        NAMED = %i[fixed enum record].freeze

        # @return [Symbol] one of PRIMITIVES or NAMED, or :array, :map, :union; errors are records
        # @return [String, nil] full name of a named type
        # @return [Array<String>] full names
        # @return [Array<Field>, nil] of a record
        # @return [Type, nil] what an array or a map holds
        # @return [Array<Type>, nil] of a union
        # @return [Array<String>, nil] of an enum
        # @return [String, nil] the enum's default symbol
        # @return [Integer, nil] bytes of a fixed
        # @return [String, nil] logical type, as written
        # @return [Integer, nil] of a decimal
        attr_reader :kind, :name, :aliases, :fields, :items, :branches, :symbols, :default, :size, :logical,
          :precision, :scale

        # @param attributes [Hash{Symbol=>Object}] by the names above
        def initialize(kind, **attributes)
          @kind = kind
          @aliases = []
          complete(**attributes)
        end

        # @api private
        def complete(**attributes)
          attributes.each { |name, value| instance_variable_set(:"@#{name}", value) }
          self
        end

        def union? = kind == :union

        def named? = NAMED.include?(kind)

        # @return [String] without its namespace
        def short_name = name&.[](/[^.]+\z/u)

        # @return [String] for messages
        def to_s = name || kind.to_s

        def inspect = "#<#{self.class} #{self}>"
      end
    end
  end
end
