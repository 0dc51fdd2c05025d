# frozen_string_literal: true

require "json"
require_relative "errors"
require_relative "schema/type"
require_relative "schema/field"
require_relative "schema/parser"
require_relative "schema/canonical_form"
require_relative "schema/from_gem"

module Guildhall
  class Avro
    # An Avro schema: parsed once, frozen and shareable.
    class Schema
      # What an error says about a schema that is only not valid.
      READING = "to read what was written with it, pass strict_schemas: false to the codec, or strict: false to Guildhall::Avro::Schema.parse"
      JSON_NESTING = 1_000 # arrays and objects within each other; a record within another takes three
      private_constant :READING, :JSON_NESTING

      attr_reader :root
      # @return [String] the schema as JSON, with everything that the canonical form leaves out
      attr_reader :json

      # @param source [Schema, String, Hash, Array, ::Avro::Schema] JSON text or data, or a schema of the gem avro
      # @param references [Array<Schema>] schemas whose named types this one refers to
      # @param strict [Boolean] whether names, namespaces and defaults have to be valid, as for a schema that is about to be
      #   registered. false: the schema is in use already, and what it needs for reading has to be right; a default is then
      #   checked when it is needed, for a field that the writer does not have
      # @return [Schema] the source itself if it is a Schema
      # @raise [SchemaError]
      # @raise [Guildhall::ArgumentError] for references that are none
      def self.parse(source, references: [], strict: true)
        unless references.is_a?(Array) && references.all?(Schema)
          raise Guildhall::ArgumentError, "references are an Array of Guildhall::Avro::Schema, not #{references.inspect[0, 80]}"
        end

        source.is_a?(Schema) ? source : new(data(source), references, strict)
      end

      # @api private
      def self.data(source)
        return source unless source.is_a?(String) || source.respond_to?(:type_sym)
        return FromGem.new.convert(source) unless source.is_a?(String)

        text = utf8(source)
        name?(text) ? text : ::JSON.parse(text, max_nesting: JSON_NESTING)
      rescue ::JSON::ParserError => error
        raise SchemaError, "Avro schema: not valid JSON: #{error.message}"
      end

      # A type's name alone, without the quotes that would make it JSON.
      def self.name?(source) = source.match?(/\A[a-z]+\z/u)

      # JSON is UTF-8, whatever Ruby takes a file for: US-ASCII where no LANG is set.
      def self.utf8(source)
        text = [Encoding::US_ASCII, Encoding::BINARY].include?(source.encoding) ? source.dup.force_encoding(Encoding::UTF_8) : source
        raise SchemaError, "Avro schema: the text is not valid #{text.encoding}; schemas are UTF-8" unless text.valid_encoding?

        text.encode(Encoding::UTF_8)
      end
      private_class_method :name?, :utf8, :new

      def initialize(data, references, strict)
        @json = ::JSON.generate(data, max_nesting: JSON_NESTING)
        @root = Parser.new(references.map(&:root), strict:).parse(::JSON.parse(@json, max_nesting: JSON_NESTING))
        Defaults.check(@root) if strict
        Ractor.make_shareable(self)
      rescue ::JSON::GeneratorError, ::JSON::NestingError => error
        raise SchemaError, "Avro schema: not valid JSON: #{error.message}"
      end

      # @return [String] Parsing Canonical Form
      def canonical_form = CanonicalForm.of(root)

      # @return [Integer] CRC-64-AVRO of the canonical form
      def fingerprint = CanonicalForm.fingerprint(canonical_form)

      # @return [String] the ten bytes that begin a single-object encoding
      def single_object_header = ["\xC3\x01".b, [fingerprint].pack("Q<")].join.b.freeze

      # @return [Boolean] the same JSON
      def ==(other) = other.is_a?(Schema) && json == other.json
      alias eql? ==

      def hash = json.hash

      def to_s = json

      def inspect = "#<#{self.class} #{root}>"
    end
  end
end

require_relative "schema/defaults"
require_relative "schema/default_value"
