# frozen_string_literal: true

module Guildhall
  class Avro
    class Schema
      # Defaults of fields: whether their JSON data are values of the fields' types.
      # @api private
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

            place = "#{record}.#{field.name}"
            raise SchemaError, "Avro schema: default #{field.default.inspect} of #{place} is not a valid #{field.type}; #{READING}"
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

          def record_fits?(field, json)
            json.key?(field.name) ? fits?(field.type, json[field.name]) : field.default?
          end
        end
      end
    end
  end
end
