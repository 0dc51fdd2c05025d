# frozen_string_literal: true

module Guildhall
  class Schema
    module Keywords
      # Keywords that apply further schemas to the same value.
      module Applicators
        OPERATIONS = {"allOf" => :all_of, "anyOf" => :any_of, "oneOf" => :one_of}.freeze
        private_constant :OPERATIONS

        def list(compilation, keyword, value)
          compilation.refuse(keyword, "is an array of schemas") unless value.is_a?(Array) && !value.empty?
          compilation.emit(OPERATIONS.fetch(keyword), keyword, nil, value.each_index.map { |index| compilation.child(keyword, index) })
        end

        def not_schema(compilation, keyword, _value)
          compilation.emit(:not, keyword, nil, compilation.child(keyword))
        end

        def branch(compilation, keyword, _value)
          compilation.emit(:if, keyword, nil, compilation.child("if"), compilation.optional("then"), compilation.optional("else"))
        end

        def reference(compilation, keyword, value)
          compilation.refuse(keyword, "is a URI reference") unless value.is_a?(String)
          compilation.emit(:ref, keyword, value, compilation.refer(value))
        end

        # Where the reference leads to no `$dynamicAnchor` of that name, it is a plain one.
        def dynamic_reference(compilation, keyword, value)
          compilation.refuse(keyword, "is a URI reference") unless value.is_a?(String)
          location = compilation.find(value)
          name = value[%r{#([^/].*)\z}mu, 1]
          unless name && location.schema.is_a?(Hash) && location.schema["$dynamicAnchor"] == name
            return compilation.emit(:ref, keyword, value, compilation.refer(value))
          end

          compilation.emit(:dynamic_ref, keyword, value, compilation.refer(value), *compilation.dynamic(name))
        end

        # 2019-09: to the outermost of the resources on the way that say `$recursiveAnchor: true`, if the nearest says so.
        def recursive_reference(compilation, keyword, value)
          compilation.refuse(keyword, 'is "#"') unless value == "#"
          unless compilation.find(value).schema.then { |schema| schema.is_a?(Hash) && schema["$recursiveAnchor"] == true }
            return compilation.emit(:ref, keyword, value, compilation.refer(value))
          end

          compilation.emit(:dynamic_ref, keyword, value, compilation.refer(value), *compilation.dynamic(Resources::RECURSIVE))
        end

        def unevaluated(compilation)
          {"unevaluatedItems" => :unevaluated_items, "unevaluatedProperties" => :unevaluated_properties}.each do |keyword, operation|
            compilation.emit(operation, keyword, compilation.schema[keyword], compilation.child(keyword)) if compilation.key?(keyword)
          end
        end
      end
    end
  end
end
