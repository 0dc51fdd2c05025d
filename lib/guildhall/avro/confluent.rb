# frozen_string_literal: true

require_relative "../schema_registry"
require_relative "../schema_registry/codec"
require_relative "../shared_cache"

module Guildhall
  class Avro
    # The wire format of Confluent's tools: a zero byte, the number of the writer's schema in a {SchemaRegistry}, the
    # value. A schema that is `bytes` has its values there as they are, without Avro's length. Frozen and shareable.
    #
    # Schemas come from the registry once, and are then known to every Ractor. Fetching needs the network, so it is done
    # in the main Ractor: {#prepare} fetches what a batch needs before the batch is handed to workers. In the main
    # Ractor `decode` fetches by itself; elsewhere an unknown id raises.
    #
    # @example
    #   registry = Guildhall::SchemaRegistry.new("http://localhost:8081")
    #   codec = Guildhall::Avro::Confluent.new(registry, reader: File.read("order.avsc"))
    #   codec.prepare(payloads)
    #   pool.map(payloads, codec)
    class Confluent
      include SchemaRegistry::Codec

      # @param reader [Schema, String, Hash, nil] what payloads are read as; nil: each as it was written
      # @param subject [String, nil] whose schema to encode with; nil: by `topic` and `subject_name`
      # @param subject_name [Symbol] see {SchemaRegistry::Subject.for}; the record's name is that of the `schema`
      # @param schema [Schema, String, Hash, nil] to encode with; nil: the newest of the subject
      # @param references [Array<Hash>] what `schema` refers to: name, subject and version of each
      # @param register [Boolean] whether `schema` is registered where the subject does not have it; false: that is an error
      # @param normalize [Boolean] see {SchemaRegistry#register}
      # @param schema_id [Symbol] :payload or :headers, where the schema is named: see {SchemaRegistry::WireFormat}
      # @param key [Boolean] for the keys of messages
      # @param options [Hash] see {Options}
      # Blocks while it fetches the schema to encode with. Without subject, topic and schema it only decodes.
      # @raise [SchemaRegistry::Error] when that cannot be fetched
      # @raise [SchemaError] when the given schema, or the subject's, cannot be compiled
      # @raise [Guildhall::ArgumentError] for options that are wrong, and when the subject's schema is one of another format
      def initialize(registry, reader: nil, subject: nil, topic: nil, subject_name: :topic, schema: nil, references: [], register: false,
                     normalize: false, schema_id: :payload, key: false, **options)
        connect(registry, type: "AVRO", schema_id:, key:)
        @options = Options.check(options, self.class)
        @reader = own(reader)
        @directory = Directory.new("\0".b, SchemaRegistry::WireFormat::PREFIX_BYTES - 1, true)
        references = check_references(references)
        schema = own(schema, @registry.avro_references(references, strict: Options.strict?(@options, given: false)))
        choose_schema(subject:, topic:, subject_name:, schema:, register:, normalize:, references:, record: schema&.root&.name)
        settle
      end

      # (see SchemaRegistry::Codec#call)
      def decode(bytes, metadata = nil)
        found = reference(bytes, metadata)
        codec_for(found.id).decode_from(bytes, found.offset)
      end

      # A lazy view; see {Avro#document}.
      # @raise as {#decode} does
      def document(bytes, metadata = nil)
        found = reference(bytes, metadata)
        codec_for(found.id).document_from(bytes, found.offset)
      end

      # The codec that gives Documents instead of Hashes; it shares the schemas that have been fetched.
      # Its native decoder finds schemas by the header of the payload.
      def lazy = SchemaRegistry::LazyCodec.new(self, (@directory unless @wire.headers?))

      # @return [String] frozen, binary
      # @raise [EncodeError] also where this codec was given no subject, topic or schema
      def encode(object) = encoder.encode_after(@prefix, object)

      private

      def label = "Avro"

      def unknown_schema(id)
        reason, known = why_unknown(id)
        UnknownSchemaError.new(reason, offset: 1, **known)
      end

      # A schema of the application's, not of the registry.
      def own(schema, references = [])
        schema && Schema.parse(schema, references:, strict: Options.strict?(@options, given: true))
      end

      def make(entry)
        schema = @registry.avro_schema(entry, strict: Options.strict?(@options, given: false))
        RawBytes.for(Avro.new(schema, reader: @reader, **@options))
      end

      def mismatch?(error) = error.is_a?(MismatchError)

      # The native decoder of {#lazy} finds what was fetched there.
      def fetch(id)
        known = super or return
        @directory.add(id, known.program) if id.is_a?(Integer) && known.program
        known
      end
    end
  end
end

require_relative "confluent/raw_bytes"
