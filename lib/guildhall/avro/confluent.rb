# frozen_string_literal: true

require_relative "unknown_schema_error"
require_relative "confluent/lazy"
require_relative "../schema_registry"
require_relative "../shared_cache"

module Guildhall
  class Avro
    # The wire format of Confluent's tools: a zero byte, the number of the writer's schema in a {SchemaRegistry}, the
    # value. Frozen and shareable.
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
      include Codec

      HEADER_BYTES = 5
      private_constant :HEADER_BYTES

      # @return [SchemaRegistry]
      attr_reader :registry

      # @param registry [SchemaRegistry]
      # @param reader [Schema, String, Hash, nil] what payloads are read as; nil: each as it was written
      # @param subject [String, nil] whose latest schema to encode with; nil: this codec does not encode
      # @param options [Hash] see {Options}
      # Blocks while it fetches the subject's schema.
      # @raise [SchemaRegistry::Error] when the subject cannot be fetched
      def initialize(registry, reader: nil, subject: nil, **options)
        @registry = registry
        @reader = reader && Schema.parse(reader)
        @options = Options.check(options)
        @codecs = SharedCache.new
        @directory = Directory.new("\0".b, HEADER_BYTES - 1, true)
        @id = subject && registry.latest(subject).id
        @header = @id && ["\0".b, [@id].pack("N")].join.freeze
        Ractor.make_shareable(self)
        fetch(@id) if @id
      end

      # @param bytes [String]
      # @return [Object] frozen and shareable
      # @raise [UnknownSchemaError] when the registry does not know the id, or it is unknown here and this is not the
      #   main Ractor
      # @raise [SchemaRegistry::Error] when the registry cannot be asked
      # @raise [DecodeError]
      def decode(bytes) = codec_for(bytes).decode_from(bytes, HEADER_BYTES)

      # A lazy view; see {Avro#document}.
      # @param bytes [String]
      # @return [MapDocument, ArrayDocument, Object]
      # @raise as {#decode} does
      def document(bytes) = codec_for(bytes).document_from(bytes, HEADER_BYTES)

      # The codec that gives Documents instead of Hashes; it shares the schemas that have been fetched.
      # @return [Lazy]
      def lazy = Lazy.new(self, @directory)

      # @param object [Object]
      # @return [String] frozen, binary
      # @raise [EncodeError] also where no subject was given
      def encode(object)
        raise EncodeError, "Avro: this codec has no subject to encode with: give it one (subject:)" unless @id

        @codecs[@id].encode_after(@header, object)
      end

      # Fetches the schemas that these payloads name and nobody has fetched yet. Blocks; in the main Ractor only. Ids
      # that the registry does not know, and payloads that are none, are left for `decode` to complain about.
      # @param payloads [Enumerable<String>]
      # @return [self]
      # @raise [SchemaRegistry::Error] when the registry cannot be asked
      def prepare(payloads)
        payloads.filter_map { |bytes| number(bytes) }.uniq.each { |id| fetch(id) unless @codecs[id] }
        self
      end

      # Prepares first, where it can.
      # @param payloads [Array<String>]
      # @return [Array<Object>] in order
      # @raise [DecodeError] for the first that cannot be decoded
      # @raise [SchemaRegistry::Error]
      def decode_batch(payloads)
        prepare(payloads) if main?
        super
      end

      # @param bytes [String]
      # @return [Integer] the number of the schema
      # @raise [DecodeError]
      def id_of(bytes)
        number(bytes) || raise(DecodeError.new("no Confluent wire format: it begins with a zero byte and a schema's number",
          codec: "Avro", offset: 0))
      end

      private

      def codec_for(bytes)
        id = id_of(bytes)
        @codecs[id] || missing(id)
      end

      def number(bytes)
        bytes.unpack1("N", offset: 1) if bytes && bytes.bytesize >= HEADER_BYTES && bytes.getbyte(0).zero?
      end

      def missing(id)
        (main? && fetch(id)) || raise(UnknownSchemaError.new(reason(id), id:, offset: 1))
      end

      def main?
        Ractor.main?
      end

      def reason(id)
        return "schema #{id} is not here yet: call prepare(payloads) before the batch is dispatched" unless main?

        entry = registry.cached(id)
        entry ? "schema #{id} is of type #{entry.type}, not AVRO" : "the registry has no schema #{id}"
      end

      # @return [Avro, nil] nil: the registry does not know it, or it is of another type
      def fetch(id)
        entry = registry.schema(id)
        return unless entry&.avro?

        made = Avro.new(registry.avro_schema(entry), reader: @reader, **@options)
        known = @codecs.add(id, made)
        @directory.add(id, made.program) if known.equal?(made)
        known
      end
    end
  end
end
