# frozen_string_literal: true

require_relative "keywords/values"
require_relative "keywords/arrays"
require_relative "keywords/objects"
require_relative "keywords/applicators"

module Guildhall
  class Schema
    # From a keyword to instructions. Each compiles itself by the method named here, `(compilation, keyword, value)`; keywords
    # that only mean something together (`properties`, `patternProperties`, `additionalProperties`, …) are compiled as
    # groups once all others are done.
    module Keywords
      extend Values
      extend Arrays
      extend Objects
      extend Applicators

      ASSERTIONS = {
        "type" => :type, "enum" => :enum, "const" => :const, "minimum" => :number, "maximum" => :number,
        "exclusiveMinimum" => :number, "exclusiveMaximum" => :number, "multipleOf" => :multiple_of,
        "minLength" => :limit, "maxLength" => :limit, "minItems" => :limit, "maxItems" => :limit,
        "minProperties" => :limit, "maxProperties" => :limit, "uniqueItems" => :unique_items, "pattern" => :pattern,
        "dependentRequired" => :dependent_required
      }.freeze
      # Those of other vocabularies: they count whatever a meta-schema leaves out.
      OTHERS = {
        "format" => :format,
        "allOf" => :list, "anyOf" => :list, "oneOf" => :list, "not" => :not_schema, "if" => :branch, "$ref" => :reference,
        "$dynamicRef" => :dynamic_reference, "$recursiveRef" => :recursive_reference,
        "dependentSchemas" => :dependent_schemas, "dependencies" => :dependencies
      }.freeze
      private_constant :ASSERTIONS, :OTHERS

      def self.compile(compilation, keyword, value)
        return custom(compilation, keyword, value) if compilation.options.keywords.key?(keyword)
        return if compilation.dialect.unknown.include?(keyword)

        name = OTHERS[keyword] || (ASSERTIONS[keyword] if compilation.dialect.assertions)
        public_send(name, compilation, keyword, value) if name
      end

      def self.compile_groups(compilation)
        items(compilation)
        contains(compilation)
        properties(compilation)
        unevaluated(compilation)
      end

      def self.custom(compilation, keyword, value)
        compilation.emit(:custom, keyword, value, compilation.options.keywords.fetch(keyword))
      end
      private_class_method :custom
    end
  end
end
