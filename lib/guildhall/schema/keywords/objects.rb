# frozen_string_literal: true

module Guildhall
  class Schema
    module Keywords
      # Keywords about the members of objects.
      module Objects
        MEMBERS = %w[properties patternProperties additionalProperties propertyNames required].freeze
        private_constant :MEMBERS

        # All that is said of single members, as one instruction: the walker goes through them once.
        def members(unit)
          return unless MEMBERS.any? { |keyword| unit.key?(keyword) }

          properties = map(unit, "properties")
          patterns = map(unit, "patternProperties")
          unit.emit(:properties, "properties", nil, properties.keys, children(unit, "properties", properties), required(unit),
            patterns.keys.map { |source| regexp(unit, "patternProperties", source) },
            children(unit, "patternProperties", patterns), unit.optional("additionalProperties"), unit.optional("propertyNames"))
        end

        def dependent_required(unit, keyword, value)
          unit.refuse(keyword, "is an object of arrays of names") unless value.is_a?(Hash) && value.values.all? { |names| names?(names) }
          unit.emit(:dependent_required, keyword, value, value.keys, value.values)
        end

        def dependent_schemas(unit, keyword, value)
          names = map(unit, keyword).keys
          unit.emit(:dependent_schemas, keyword, value, names, children(unit, keyword, value))
        end

        # Both of the above in one, before the drafts took them apart.
        def dependencies(unit, keyword, value)
          required, schemas = map(unit, keyword).partition { |_, dependency| dependency.is_a?(Array) }.map(&:to_h)
          unit.emit(:dependent_required, keyword, value, required.keys, required.values) if required.any?
          unit.emit(:dependent_schemas, keyword, value, schemas.keys, children(unit, keyword, schemas)) if schemas.any?
        end

        private

        def map(unit, keyword)
          value = unit.schema.fetch(keyword, {})
          value.is_a?(Hash) ? value : unit.refuse(keyword, "is an object of schemas")
        end

        def children(unit, keyword, names)
          names.keys.map { |name| unit.child(keyword, name) }
        end

        def required(unit)
          value = unit.schema.fetch("required", [])
          unit.refuse("required", "is an array of names") unless names?(value)
          unit.dialect.assertions ? value.uniq : []
        end

        def names?(value)
          value.is_a?(Array) && value.all?(String)
        end
      end
    end
  end
end
