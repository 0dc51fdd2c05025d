# frozen_string_literal: true

module Guildhall
  class Avro
    class Schema
      # Defaults of fields: JSON data → the frozen values that a decoder puts in.
      module Defaults
        KINDS = {
          null: NilClass, int: Integer, long: Integer, float: Numeric, double: Numeric, bytes: String, string: String,
          fixed: String, enum: String, array: Array, map: Hash, record: Hash
        }.freeze
        RANGES = {int: (-(2**31)..((2**31) - 1)), long: (-(2**63)..((2**63) - 1))}.freeze
        private_constant :KINDS, :RANGES

        # Sees to it that every default is a value of its field's type.
        # @raise [SchemaError]
        def self.check(type, seen = {}.compare_by_identity)
          return if seen[type]

          seen[type] = true
          type.fields&.each { |field| check_field(type, field) }
          [type.items, *type.branches, *type.fields&.map(&:type)].compact.each { |part| check(part, seen) }
        end

        # @param logical [Logical::Choice] which logical types become Ruby values
        # @param key [#call] makes a record's key of a field's name
        # @return [Object] the value of a default
        # @raise [SchemaError] when it is none of the type's
        def self.value(type, json, logical, key = :itself.to_proc)
          return value(branch(type, json), json, logical, key) if type.union?

          made = case type.kind
                 when :float, :double then Float(json)
                 when :bytes, :fixed then bytes(json)
                 when :array then json.map { |item| value(type.items, item, logical, key) }
                 when :map then json.to_h { |name, item| [key.call(name), value(type.items, item, logical, key)] }
                 when :record then record(type, json, logical, key)
                 else json
                 end
          logical.decode(type, made)
        end

        # @return [Boolean] whether JSON data represents a value of the type
        def self.fits?(type, json)
          return type.branches.any? { |branch| fits?(branch, json) } if type.union?
          return [true, false].include?(json) if type.kind == :boolean

          json.is_a?(KINDS.fetch(type.kind)) && contents_fit?(type, json)
        end

        class << self
          private

          def check_field(record, field)
            return if !field.default? || fits?(field.type, field.default)

            raise SchemaError, "Avro schema: default #{field.default.inspect} of #{record}.#{field.name} is not a valid #{field.type}"
          end

          def contents_fit?(type, json)
            case type.kind
            when :int, :long then RANGES[type.kind].cover?(json)
            when :enum then type.symbols.include?(json)
            when :bytes, :fixed then bytes_fit?(type, json)
            when :array, :map then (json.is_a?(Hash) ? json.values : json).all? { |item| fits?(type.items, item) }
            when :record then type.fields.all? { |field| record_fits?(field, json) }
            else true
            end
          end

          def bytes_fit?(type, json)
            json.length == (type.size || json.length) && json.each_char.all? { |char| char.ord < 256 }
          end

          def branch(type, json)
            type.branches.find { |branch| fits?(branch, json) }
          end

          # In JSON each character is a byte.
          def bytes(json) = json.encode(Encoding::ISO_8859_1).b

          def record(type, json, logical, key)
            type.fields.to_h { |field| [key.call(field.name), value(field.type, json.fetch(field.name) { field.default }, logical, key)] }
          end

          def record_fits?(field, json)
            json.key?(field.name) ? fits?(field.type, json[field.name]) : field.default?
          end
        end
      end
    end
  end
end
