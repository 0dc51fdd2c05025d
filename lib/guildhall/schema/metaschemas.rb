# frozen_string_literal: true

module Guildhall
  class Schema
    # The meta-schemas of all drafts, so that schemas can refer to them and be validated by them. Put together from
    # what the drafts say each keyword's value is.
    module Metaschemas
      TYPES = %w[array boolean integer null number object string].freeze
      private_constant :TYPES

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

      def self.draft4
        shapes = Shapes.new({"$ref" => "#"})
        own = {
          "id" => shapes.string, "$schema" => shapes.string, "additionalItems" => {"anyOf" => [shapes.boolean, shapes.schema]},
          "additionalProperties" => {"anyOf" => [shapes.boolean, shapes.schema]}, "exclusiveMinimum" => shapes.boolean,
          "exclusiveMaximum" => shapes.boolean, "multipleOf" => {"type" => "number", "minimum" => 0, "exclusiveMinimum" => true},
          "required" => {"minItems" => 1, **shapes.names}, "enum" => {"type" => "array", "minItems" => 1, "uniqueItems" => true},
          "default" => {}
        }
        later = %w[const contains propertyNames if then else readOnly writeOnly examples]
        old("http://json-schema.org/draft-04/schema", shapes, "object", later).tap do |made|
          made["id"] = made.delete("$id")
          made["properties"] = made["properties"].merge(own).except("$id", "$ref", "$comment")
          made["dependencies"] = {"exclusiveMinimum" => ["minimum"], "exclusiveMaximum" => ["maximum"]}
        end
      end

      def self.draft6
        later = %w[if then else $comment readOnly writeOnly]
        old("http://json-schema.org/draft-06/schema", Shapes.new({"$ref" => "#"}), %w[object boolean], later)
      end

      def self.draft7
        shapes = Shapes.new({"$ref" => "#"})
        old("http://json-schema.org/draft-07/schema", shapes, %w[object boolean], []).tap { |made| made["properties"].merge!(shapes.content) }
      end

      def self.old(uri, shapes, type, without)
        own = {
          "$id" => shapes.string("uri-reference"), "$schema" => shapes.string("uri"), "$ref" => shapes.string("uri-reference"),
          "$comment" => shapes.string, "additionalItems" => shapes.schema, "items" => {"anyOf" => [shapes.schema, shapes.schemas]},
          "definitions" => shapes.members, "format" => shapes.string,
          "dependencies" => {"type" => "object", "additionalProperties" => {"anyOf" => [shapes.schema, shapes.names]}}
        }
        {"$schema" => "#{uri}#", "$id" => "#{uri}#", "type" => type,
         "properties" => own.merge(shapes.validation, shapes.applicators, shapes.annotations).except(*without)}
      end
      private_class_method :old

      # @return [Hash{String=>Hash}] by URI: the whole one and one a vocabulary
      def self.draft2019
        vocabulary = "https://json-schema.org/draft/2019-09/"
        shapes = Shapes.new({"$recursiveRef" => "#"})
        core = core(shapes).except("$dynamicRef", "$dynamicAnchor")
        core.merge!("$recursiveRef" => shapes.string("uri-reference"), "$recursiveAnchor" => shapes.boolean,
          "$anchor" => shapes.string.merge("pattern" => "^[A-Za-z][-A-Za-z0-9.:_]*$"))
        applicators = applicators_of(shapes).except("prefixItems").merge("items" => {"anyOf" => [shapes.schema, shapes.schemas]},
          "additionalItems" => shapes.schema, "unevaluatedItems" => shapes.schema, "unevaluatedProperties" => shapes.schema)
        parts = {"core" => core, "applicator" => applicators, **described_by(shapes, "format")}
        whole(vocabulary, parts, {"$recursiveAnchor" => true})
      end

      # @return [Hash{String=>Hash}] by URI: the whole one and one a vocabulary
      def self.draft2020
        shapes = Shapes.new({"$dynamicRef" => "#meta"})
        parts = {
          "core" => core(shapes), "applicator" => applicators_of(shapes),
          "unevaluated" => {"unevaluatedItems" => shapes.schema, "unevaluatedProperties" => shapes.schema},
          **described_by(shapes, "format-annotation")
        }
        whole("https://json-schema.org/draft/2020-12/", parts, {"$dynamicAnchor" => "meta"})
      end

      def self.whole(base, parts, anchor)
        uri = "#{base}schema"
        common = {"$schema" => uri, **anchor, "type" => %w[object boolean]}
        vocabularies = parts.to_h do |name, properties|
          id = "#{base}meta/#{name}"
          [id, {**common, "$id" => id, "$vocabulary" => {"#{base}vocab/#{name}" => true}, "properties" => properties}]
        end
        all = {**common, "$id" => uri, "$vocabulary" => parts.keys.to_h { |name| ["#{base}vocab/#{name}", true] },
                         "allOf" => parts.keys.map { |name| {"$ref" => "meta/#{name}"} }}
        vocabularies.merge(uri => all)
      end
      private_class_method :whole

      def self.applicators_of(shapes)
        shapes.applicators.merge("prefixItems" => shapes.schemas, "items" => shapes.schema, "dependentSchemas" => shapes.members)
      end
      private_class_method :applicators_of

      # The vocabularies that hold no schemas of their own.
      def self.described_by(shapes, format)
        validation = shapes.validation.merge("maxContains" => shapes.count, "minContains" => shapes.count(1),
          "dependentRequired" => {"type" => "object", "additionalProperties" => shapes.names})
        {"validation" => validation, "meta-data" => shapes.annotations.merge("deprecated" => shapes.boolean),
         format => {"format" => shapes.string}, "content" => shapes.content.merge("contentSchema" => shapes.schema)}
      end
      private_class_method :described_by

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

      # Made when it is asked for: few schemas refer to one.
      # @return [Hash, nil] nil: that is no meta-schema
      def self.find(uri)
        case uri
        when "http://json-schema.org/draft-04/schema" then draft4
        when "http://json-schema.org/draft-06/schema" then draft6
        when "http://json-schema.org/draft-07/schema" then draft7
        when %r{\Ahttps://json-schema\.org/draft/2019-09/}u then draft2019[uri]
        when %r{\Ahttps://json-schema\.org/draft/2020-12/}u then draft2020[uri]
        end
      end
    end
  end
end
