# frozen_string_literal: true

require_relative "../json"
require_relative "../schema"
require_relative "../schema_registry"
require_relative "../schema_registry/codec"

module Guildhall
  class JSON
    # JSON in the wire format of Confluent's tools: a zero byte, the id of a JSON Schema in a {SchemaRegistry}, the text.
    # Frozen and shareable; see {Avro::Confluent} for where schemas are fetched.
    #
    # @example
    #   registry = Guildhall::SchemaRegistry.new("http://localhost:8081")
    #   codec = Guildhall::JSON::Confluent.new(registry, topic: "orders", validate: true)
    #   codec.decode(codec.encode({"id" => 1}))  # => {"id" => 1}
    class Confluent
      include SchemaRegistry::Codec

      UNCHECKED = true # instead of a validator: the schema has to be there, and payloads are not checked by it
      private_constant :UNCHECKED

      # @param validate [Boolean] whether payloads are checked by the schema that they name. A schema that cannot be compiled (of an
      #   unknown draft, with a pattern that Ruby cannot express), or whose references the registry does not have, is no message's fault:
      #   its payloads are decoded unchecked, and a warning says so once
      # @param draft [String] of schemas that name none: see {Schema::Options#draft}
      # @param subject [String, nil] whose schema to encode with; nil: by `topic` and `subject_name`
      # @param subject_name [Symbol] see {SchemaRegistry::Subject.for}; a schema's record name is its `title`
      # @param schema [String, Hash, nil] JSON Schema to encode with; nil: the newest of the subject
      # @param references [Array<Hash>] what `schema` refers to: name, subject and version of each
      # @param register [Boolean] whether `schema` is registered where the subject does not have it; false: that is an error
      # @param normalize [Boolean] see {SchemaRegistry#register}
      # @param schema_id [Symbol] :payload or :headers, where the schema is named: see {SchemaRegistry::WireFormat}
      # @param key [Boolean] for the keys of messages
      # @param options [Hash] see {Options}
      # Blocks while it fetches the schema to encode with. Without subject, topic and schema it only decodes.
      # @raise [SchemaRegistry::Error] when that cannot be fetched
      # @raise [SchemaError] when it cannot be compiled to validate what is encoded
      # @raise [Guildhall::ArgumentError] for options that are wrong, and when the subject's schema is one of another format
      def initialize(registry, validate: false, draft: "2020-12", subject: nil, topic: nil, subject_name: :topic, schema: nil,
                     references: [], register: false, normalize: false, schema_id: :payload, key: false, **options)
        OPTIONS.check!({validate:}, owner: self.class.name)
        connect(registry, type: "JSON", schema_id:, key:)
        @json = JSON.new(**Options.check(options, self.class))
        @validate = validate
        @draft = Schema::Options.new(draft:).draft
        choose_schema(subject:, topic:, subject_name:, schema:, register:, normalize:,
          references: check_references(references), record: schema && title(schema))
        settle
      end

      # (see SchemaRegistry::Codec#call)
      # @raise [ValidationError] with `validate: true`
      def decode(bytes, metadata = nil) = read(bytes, metadata) { |text| @json.decode(text) }

      # @return [ObjectDocument, ArrayDocument, Object] a lazy view
      # @raise as {#decode} does
      def document(bytes, metadata = nil) = read(bytes, metadata) { |text| @json.document(text) }

      # @return [SchemaRegistry::LazyCodec] the codec that gives Documents; it shares the schemas that have been fetched
      def lazy = SchemaRegistry::LazyCodec.new(self)

      # @return [String] frozen, binary
      # @raise [EncodeError] also where this codec was given no subject, topic or schema
      # @raise [ValidationError] with `validate: true`
      def encode(object)
        validator = encoder
        text = @json.encode(object)
        validator.validate!(@json.document(text)) unless validator == UNCHECKED
        "#{@prefix}#{text.b}".b.freeze
      end

      private

      def label = "JSON"

      def read(bytes, metadata)
        found = reference(bytes, metadata)
        validator = codec_for(found.id)
        text = bytes.byteslice(found.offset..).freeze
        validator.validate!(@json.document(text)) unless validator == UNCHECKED
        yield text
      rescue ParseError => error
        raise error.moved_by(found.offset)
      end

      def make(entry)
        return UNCHECKED unless @validate

        Schema.new(entry.schema, draft: @draft, registry: others(entry)).validator(all: true)
      rescue DecodeError => error
        raise SchemaError, error.message
      end

      def made(entry, id = entry.id)
        super
      rescue SchemaRegistry::UnusableSchemaError => error
        raise if @entry && entry.id == @entry.id

        warn("guildhall: #{error.message}; payloads that name it are decoded without being checked")
        UNCHECKED
      end

      def others(entry)
        Documents.new(@registry.resolve(entry) { |one, others| Documents::Node.new(one, others) }).to_h
      end

      def title(schema)
        schema = JSON.decode(schema) if schema.is_a?(String)
        schema["title"] if schema.respond_to?(:key?)
      end
    end
  end
end

require_relative "confluent/documents"
