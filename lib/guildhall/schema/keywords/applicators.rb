# frozen_string_literal: true

module Guildhall
  class Schema
    module Keywords
      # Keywords that apply further schemas to the same value.
      module Applicators
        OPERATIONS = {"allOf" => :all_of, "anyOf" => :any_of, "oneOf" => :one_of}.freeze
        private_constant :OPERATIONS

        def list(unit, keyword, value)
          unit.refuse(keyword, "is an array of schemas") unless value.is_a?(Array) && !value.empty?
          unit.emit(OPERATIONS.fetch(keyword), keyword, nil, value.each_index.map { |index| unit.child(keyword, index) })
        end

        def not_schema(unit, keyword, _value)
          unit.emit(:not, keyword, nil, unit.child(keyword))
        end

        def branch(unit, keyword, _value)
          unit.emit(:if, keyword, nil, unit.child("if"), unit.optional("then"), unit.optional("else"))
        end

        def reference(unit, keyword, value)
          unit.refuse(keyword, "is a URI reference") unless value.is_a?(String)
          unit.emit(:ref, keyword, value, unit.refer(value))
        end

        # Where the reference leads to no `$dynamicAnchor` of that name, it is a plain one.
        def dynamic_reference(unit, keyword, value)
          unit.refuse(keyword, "is a URI reference") unless value.is_a?(String)
          place = unit.find(value)
          name = value[%r{#([^/].*)\z}m, 1]
          unless name && place.schema.is_a?(Hash) && place.schema["$dynamicAnchor"] == name
            return unit.emit(:ref, keyword, value,
              unit.refer(value))
          end

          unit.emit(:dynamic_ref, keyword, value, unit.refer(value), *unit.dynamic(name))
        end

        def unevaluated(unit)
          return if unit.dialect.draft7?

          {"unevaluatedItems" => :unevaluated_items, "unevaluatedProperties" => :unevaluated_properties}.each do |keyword, operation|
            unit.emit(operation, keyword, unit.schema[keyword], unit.child(keyword)) if unit.key?(keyword)
          end
        end
      end
    end
  end
end
