# frozen_string_literal: true

module Guildhall
  class Schema
    # What a draft's keywords are: which hold schemas, and which say something about values.
    #
    # - `draft` [String] "2020-12" or "7"
    # - `single`, `lists`, `maps` [Array<String>] keywords whose value is a schema, an Array or a Hash of schemas
    # - `assertions` [Boolean] whether the validation vocabulary counts (a meta-schema can leave it out)
    Dialect = Data.define(:draft, :single, :lists, :maps, :assertions) do
      # @return [Boolean]
      def draft7? = draft == "7"
    end

    # Which dialect a schema is written in, by its `$schema`.
    class Dialect
      COMMON = %w[additionalProperties contains else if items not propertyNames then].freeze
      DRAFT_7 = new(draft: "7", single: [*COMMON, "additionalItems"].freeze, lists: %w[allOf anyOf items oneOf].freeze,
        maps: %w[definitions dependencies patternProperties properties].freeze, assertions: true)
      DRAFT_2020 = new(draft: "2020-12", single: [*COMMON, "contentSchema", "unevaluatedItems", "unevaluatedProperties"].freeze,
        lists: %w[allOf anyOf oneOf prefixItems].freeze,
        maps: %w[$defs definitions dependencies dependentSchemas patternProperties properties].freeze, assertions: true)
      BY_URI = {
        "http://json-schema.org/draft-07/schema" => DRAFT_7, "https://json-schema.org/draft-07/schema" => DRAFT_7,
        "https://json-schema.org/draft/2020-12/schema" => DRAFT_2020,
        "http://json-schema.org/draft/2020-12/schema" => DRAFT_2020
      }.freeze
      VALIDATION = "https://json-schema.org/draft/2020-12/vocab/validation"
      KNOWN = %w[core applicator unevaluated validation meta-data format-annotation format-assertion content].map do |name|
        "https://json-schema.org/draft/2020-12/vocab/#{name}".freeze
      end.freeze
      private_constant :COMMON, :BY_URI, :VALIDATION, :KNOWN

      # @param uri [String, nil] a `$schema`
      # @param options [Options]
      # @return [Dialect]
      # @raise [SchemaError]
      def self.of(uri, options)
        return options.draft == "7" ? DRAFT_7 : DRAFT_2020 if uri.nil?

        uri = uri.to_s.delete_suffix("#")
        BY_URI[uri] || of_metaschema(options.registry[uri], options) ||
          raise(SchemaError, "$schema #{uri} is not known: draft 2020-12 and draft-07 are, and what the registry holds")
      end

      # A meta-schema of the user's own, made of the vocabularies of 2020-12.
      def self.of_metaschema(metaschema, options)
        return unless metaschema.is_a?(Hash)

        base = of(metaschema["$schema"], options)
        vocabulary = metaschema["$vocabulary"] or return base
        unknown = vocabulary.select { |name, needed| needed && !KNOWN.include?(name) }.keys
        raise SchemaError, "needs vocabularies that are not known: #{unknown.join(", ")}" if unknown.any?

        base.with(assertions: vocabulary.key?(VALIDATION))
      end
      private_class_method :of_metaschema
    end
  end
end
