# frozen_string_literal: true

module Guildhall
  class Schema
    # What a draft's keywords are: which hold schemas, and which say something about values.
    #
    # - `draft` [String] "2020-12", "2019-09", "7", "6" or "4"
    # - `single`, `lists`, `maps` [Array<String>] keywords whose value is a schema, an Array or a Hash of schemas
    # - `unknown` [Array<String>] keywords of other drafts, which mean nothing in this one
    # - `assertions` [Boolean] whether the validation vocabulary counts (a meta-schema can leave it out)
    Dialect = Data.define(:draft, :single, :lists, :maps, :unknown, :assertions) do
      # @return [Boolean] whether `$ref` makes all keywords beside it void, and an `$id` can be an anchor: up to draft-07
      def old? = draft.size == 1
      def draft4? = draft == "4"
      # @return [Boolean] whether `items` may be a list, with `additionalItems` behind it: up to 2019-09
      def item_lists? = draft != "2020-12"
      # @return [Boolean] whether what `contains` matches counts as evaluated
      def contains_evaluates? = draft == "2020-12"
      # @return [String] the keyword that names a schema
      def id_keyword = draft4? ? "id" : "$id"
    end

    # Which dialect a schema is written in, by its `$schema`.
    class Dialect
      COMMON = %w[additionalProperties items not].freeze
      SINCE_6 = [*COMMON, "contains", "propertyNames"].freeze
      SINCE_7 = [*SINCE_6, "else", "if", "then"].freeze
      SINCE_2019 = [*SINCE_7, "contentSchema", "unevaluatedItems", "unevaluatedProperties"].freeze
      OLD_LISTS = %w[allOf anyOf items oneOf].freeze
      OLD_MAPS = %w[definitions dependencies patternProperties properties].freeze
      NEW_MAPS = ["$defs", *OLD_MAPS, "dependentSchemas"].freeze
      NOT_IN_2020 = %w[$recursiveAnchor $recursiveRef additionalItems].freeze
      NOT_IN_2019 = %w[$dynamicAnchor $dynamicRef prefixItems].freeze
      NOT_IN_7 = [*NOT_IN_2019, "$anchor", "$recursiveAnchor", "$recursiveRef", "contentSchema", "dependentRequired", "dependentSchemas",
                  "maxContains", "minContains", "unevaluatedItems", "unevaluatedProperties"].freeze
      NOT_IN_6 = [*NOT_IN_7, "if", "then", "else"].freeze
      NOT_IN_4 = [*NOT_IN_6, "const", "contains", "propertyNames"].freeze
      drafts = {
        "4" => {single: [*COMMON, "additionalItems"], lists: OLD_LISTS, maps: OLD_MAPS, unknown: NOT_IN_4},
        "6" => {single: [*SINCE_6, "additionalItems"], lists: OLD_LISTS, maps: OLD_MAPS, unknown: NOT_IN_6},
        "7" => {single: [*SINCE_7, "additionalItems"], lists: OLD_LISTS, maps: OLD_MAPS, unknown: NOT_IN_7},
        "2019-09" => {single: [*SINCE_2019, "additionalItems"], lists: OLD_LISTS, maps: NEW_MAPS, unknown: NOT_IN_2019},
        "2020-12" => {single: SINCE_2019, lists: %w[allOf anyOf oneOf prefixItems], maps: NEW_MAPS, unknown: NOT_IN_2020}
      }
      ALL = Ractor.make_shareable(drafts.to_h { |draft, keywords| [draft, new(draft:, **keywords, assertions: true)] })
      DRAFTS = ALL.keys.reverse.freeze
      URI = %r{\Ahttps?://json-schema\.org/(?:draft-0(\d)|draft/(\d{4}-\d\d))/schema\z}u
      names = {"2019-09" => %w[format], "2020-12" => %w[unevaluated format-annotation format-assertion]}
      KNOWN = Ractor.make_shareable(names.flat_map do |draft, own|
        [*own, "core", "applicator", "validation", "meta-data", "content"].map { |name| "https://json-schema.org/draft/#{draft}/vocab/#{name}" }
      end)
      private_constant :COMMON, :SINCE_6, :SINCE_7, :SINCE_2019, :OLD_LISTS, :OLD_MAPS, :NEW_MAPS, :NOT_IN_2020, :NOT_IN_2019, :NOT_IN_7,
        :NOT_IN_6, :NOT_IN_4, :URI, :KNOWN

      # @param uri [String, nil] a `$schema`
      # @raise [SchemaError]
      def self.of(uri, options)
        return ALL.fetch(options.draft) if uri.nil?

        uri = uri.to_s.delete_suffix("#")
        ALL[uri[URI, 1] || uri[URI, 2]] || of_metaschema(options.registry[uri], options) ||
          raise(SchemaError,
            "$schema #{uri} is not known: drafts 2020-12, 2019-09, 07, 06 and 04 are, and meta-schemas that registry: holds")
      end

      # A meta-schema of the user's own, made of the vocabularies of 2019-09 or 2020-12.
      def self.of_metaschema(metaschema, options)
        return unless metaschema.is_a?(Hash)

        base = of(metaschema["$schema"], options)
        vocabulary = metaschema["$vocabulary"] or return base
        unknown = vocabulary.select { |name, needed| needed && !KNOWN.include?(name) }.keys
        raise SchemaError, "needs vocabularies that are not known: #{unknown.join(", ")}" if unknown.any?

        base.with(assertions: vocabulary.keys.any? { |name| name.end_with?("/vocab/validation") })
      end
      private_class_method :of_metaschema
    end
  end
end
