# frozen_string_literal: true

module Guildhall
  class Schema
    module Keywords
      # Keywords about the properties of objects.
      module Objects
        PROPERTIES = %w[properties patternProperties additionalProperties propertyNames required].freeze
        private_constant :PROPERTIES

        # All that is said of single properties, as one instruction: the walker goes through them once.
        def properties(compilation)
          return unless PROPERTIES.any? { |keyword| compilation.key?(keyword) }

          properties = map(compilation, "properties")
          patterns = map(compilation, "patternProperties")
          compilation.emit(:properties, "properties", nil,
            properties.keys, children(compilation, "properties", properties), required(compilation),
            patterns.keys.map { |source| regexp(compilation, "patternProperties", source) },
            children(compilation, "patternProperties", patterns),
            compilation.optional("additionalProperties"), compilation.optional("propertyNames"))
        end

        def dependent_required(compilation, keyword, value)
          lists = value.is_a?(Hash) && value.values.all? { |names| names?(names) }
          compilation.refuse(keyword, "is an object of arrays of names") unless lists
          compilation.emit(:dependent_required, keyword, value, value.keys, value.values)
        end

        def dependent_schemas(compilation, keyword, value)
          names = map(compilation, keyword).keys
          compilation.emit(:dependent_schemas, keyword, value, names, children(compilation, keyword, value))
        end

        # Draft-07: one keyword for both of the above.
        def dependencies(compilation, keyword, value)
          required, schemas = map(compilation, keyword).partition { |_, dependency| dependency.is_a?(Array) }.map(&:to_h)
          compilation.emit(:dependent_required, keyword, value, required.keys, required.values) if required.any?
          compilation.emit(:dependent_schemas, keyword, value, schemas.keys, children(compilation, keyword, schemas)) if schemas.any?
        end

        private

        def map(compilation, keyword)
          value = compilation.schema.fetch(keyword, {})
          value.is_a?(Hash) ? value : compilation.refuse(keyword, "is an object of schemas")
        end

        def children(compilation, keyword, names)
          names.keys.map { |name| compilation.child(keyword, name) }
        end

        def required(compilation)
          value = compilation.schema.fetch("required", [])
          compilation.refuse("required", "is an array of names") unless names?(value)
          compilation.dialect.assertions ? value.uniq : []
        end

        def names?(value)
          value.is_a?(Array) && value.all?(String)
        end
      end
    end
  end
end
