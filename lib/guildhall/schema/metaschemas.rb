# frozen_string_literal: true

module Guildhall
  class Schema
    # The meta-schemas of both drafts, so that schemas can refer to them and be validated by them. Put together from
    # what the drafts say each keyword's value is.
    module Metaschemas
      TYPES = %w[array boolean integer null number object string].freeze
      VOCABULARY = "https://json-schema.org/draft/2020-12/vocab/"
      META = "https://json-schema.org/draft/2020-12/meta/"
      private_constant :TYPES, :VOCABULARY, :META

      # Shapes of keywords' values, given the schema of "a schema".
      class Shapes
        def initialize(schema)
          @schema = schema
        end

        attr_reader :schema

        def schemas = {"type" => "array", "minItems" => 1, "items" => @schema}
        def members(**rest) = {"type" => "object", "additionalProperties" => @schema, "default" => {}}.merge(rest.transform_keys(&:to_s))
        def string(format = nil) = {"type" => "string", "format" => format}.compact
        def boolean = {"type" => "boolean", "default" => false}
        def number = {"type" => "number"}
        def positive = {"type" => "number", "exclusiveMinimum" => 0}
        def count(default = nil) = {"type" => "integer", "minimum" => 0, "default" => default}.compact
        def names = {"type" => "array", "items" => string, "uniqueItems" => true, "default" => []}

        def type
          {"anyOf" => [{"enum" => TYPES}, {"type" => "array", "items" => {"enum" => TYPES}, "minItems" => 1, "uniqueItems" => true}]}
        end

        def validation
          {
            "type" => type, "const" => true, "enum" => {"type" => "array", "items" => true}, "multipleOf" => positive,
            "maximum" => number, "exclusiveMaximum" => number, "minimum" => number, "exclusiveMinimum" => number,
            "maxLength" => count, "minLength" => count(0), "pattern" => string("regex"), "maxItems" => count,
            "minItems" => count(0), "uniqueItems" => boolean, "maxProperties" => count, "minProperties" => count(0),
            "required" => names
          }
        end

        def applicators
          {
            "contains" => schema, "additionalProperties" => schema, "properties" => members,
            "patternProperties" => members(propertyNames: string("regex")), "propertyNames" => schema, "if" => schema,
            "then" => schema, "else" => schema, "allOf" => schemas, "anyOf" => schemas, "oneOf" => schemas, "not" => schema
          }
        end

        def annotations
          {"title" => string, "description" => string, "default" => true, "readOnly" => boolean, "writeOnly" => boolean,
           "examples" => {"type" => "array", "items" => true}}
        end

        def content = {"contentEncoding" => string, "contentMediaType" => string}
      end

      # @return [Hash]
      def self.draft7
        shapes = Shapes.new({"$ref" => "#"})
        uri = "http://json-schema.org/draft-07/schema"
        own = {
          "$id" => shapes.string("uri-reference"), "$schema" => shapes.string("uri"), "$ref" => shapes.string("uri-reference"),
          "$comment" => shapes.string, "additionalItems" => shapes.schema, "items" => {"anyOf" => [shapes.schema, shapes.schemas]},
          "definitions" => shapes.members, "format" => shapes.string,
          "dependencies" => {"type" => "object", "additionalProperties" => {"anyOf" => [shapes.schema, shapes.names]}}
        }
        {"$schema" => "#{uri}#", "$id" => "#{uri}#", "type" => %w[object boolean], "default" => true,
         "properties" => own.merge(shapes.validation, shapes.applicators, shapes.annotations, shapes.content)}
      end

      # @return [Hash{String=>Hash}] by URI: the whole one and one a vocabulary
      def self.draft2020
        parts = vocabularies
        uri = "https://json-schema.org/draft/2020-12/schema"
        whole = {
          "$schema" => uri, "$id" => uri, "$dynamicAnchor" => "meta", "type" => %w[object boolean],
          "$vocabulary" => parts.keys.to_h { |name| [VOCABULARY + name, true] },
          "allOf" => parts.keys.map { |name| {"$ref" => "meta/#{name}"} }
        }
        parts.to_h { |name, properties| [META + name, vocabulary(name, properties, uri)] }.merge(uri => whole)
      end

      def self.vocabulary(name, properties, uri)
        {"$schema" => uri, "$id" => META + name, "$vocabulary" => {VOCABULARY + name => true}, "$dynamicAnchor" => "meta",
         "type" => %w[object boolean], "properties" => properties}
      end
      private_class_method :vocabulary

      def self.vocabularies
        shapes = Shapes.new({"$dynamicRef" => "#meta"})
        {
          "core" => core(shapes),
          "applicator" => shapes.applicators.merge("prefixItems" => shapes.schemas, "items" => shapes.schema,
            "dependentSchemas" => shapes.members),
          "unevaluated" => {"unevaluatedItems" => shapes.schema, "unevaluatedProperties" => shapes.schema},
          "validation" => shapes.validation.merge("maxContains" => shapes.count, "minContains" => shapes.count(1),
            "dependentRequired" => {"type" => "object", "additionalProperties" => shapes.names}),
          "meta-data" => shapes.annotations.merge("deprecated" => shapes.boolean),
          "format-annotation" => {"format" => shapes.string},
          "content" => shapes.content.merge("contentSchema" => shapes.schema)
        }
      end
      private_class_method :vocabularies

      def self.core(shapes)
        anchor = shapes.string.merge("pattern" => "^[A-Za-z_][-A-Za-z0-9._]*$")
        {
          "$id" => shapes.string("uri-reference").merge("pattern" => "^[^#]*#?$"), "$schema" => shapes.string("uri"),
          "$ref" => shapes.string("uri-reference"), "$anchor" => anchor, "$dynamicRef" => shapes.string("uri-reference"),
          "$dynamicAnchor" => anchor, "$comment" => shapes.string, "$defs" => shapes.members,
          "$vocabulary" => {"type" => "object", "propertyNames" => shapes.string("uri"), "additionalProperties" => {"type" => "boolean"}}
        }
      end
      private_class_method :core

      ALL = Ractor.make_shareable({"http://json-schema.org/draft-07/schema" => draft7, **draft2020})
    end
  end
end
