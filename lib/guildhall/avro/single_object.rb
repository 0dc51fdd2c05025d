# frozen_string_literal: true

require_relative "errors"

module Guildhall
  class Avro
    # Avro's single-object encoding: two bytes, the fingerprint of the writer's schema, the value. A codec for a known
    # set of writers' schemas. Frozen and shareable.
    #
    # @example
    #   codec = Guildhall::Avro::SingleObject.new([order_v2, order_v1], reader: order_v2)
    #   codec.decode(bytes)
    class SingleObject
      include Codec

      MAGIC = "\xC3\x01".b.freeze
      HEADER_BYTES = 10
      private_constant :MAGIC, :HEADER_BYTES

      # @param schemas [Array<Schema, String, Hash>] writers' schemas; the first is the one to encode with
      # @param reader [Schema, String, Hash, nil] what all are read as; nil: each as it was written
      # @param options [Hash] see {Options}
      # @raise [Guildhall::ArgumentError] for no schemas, and for two with one fingerprint whose logical types differ
      def initialize(schemas, reader: nil, **options)
        unless schemas.is_a?(Array) && schemas.any?
          raise Guildhall::ArgumentError, "Guildhall::Avro::SingleObject: schemas are an Array of one or more, not #{schemas.class}"
        end

        checked = Options.check(options, SingleObject)
        reader &&= Schema.parse(reader, strict: Options.strict?(checked, given: true))
        codecs = schemas.map { |schema| Avro.new(schema, reader:, **options) }
        @by_fingerprint = codecs.group_by { |codec| codec.schema.fingerprint }.transform_values { |same| only(same) }
        @directory = Directory.new(MAGIC, HEADER_BYTES - MAGIC.bytesize, false)
        @by_fingerprint.each { |fingerprint, codec| @directory.add(fingerprint, codec.program) }
        @first = codecs.first
        @header = @first.schema.single_object_header
        Ractor.make_shareable(self)
      end

      # @return [Object] frozen and shareable
      # @raise [UnknownSchemaError]
      # @raise [DecodeError]
      def decode(bytes) = codec_for(bytes).decode_from(bytes, HEADER_BYTES)

      # A lazy view; see {Avro#document}.
      # @raise as {#decode} does
      def document(bytes) = codec_for(bytes).document_from(bytes, HEADER_BYTES)

      # The codec that gives Documents instead of Hashes.
      def lazy = Lazy.new(self, @directory)

      # @return [String] frozen, binary
      # @raise [EncodeError]
      def encode(object) = @first.encode_after(@header, object)

      private

      # A fingerprint says nothing of logical types: two schemas that differ in those alone cannot be told apart in a payload.
      def only(codecs)
        return codecs.first if codecs.uniq(&:readings).one?

        schema = codecs.first.schema
        raise Guildhall::ArgumentError,
          format("Guildhall::Avro::SingleObject: two schemas of %s have one fingerprint (%016x) and differ in logical types, which are " \
                 "no part of it: a payload does not say with which it was written. Give one of them, or logical_types: false",
            schema.root, schema.fingerprint)
      end

      def codec_for(bytes)
        raise TypeError, "no implicit conversion of #{Shareable.type_of(bytes)} into String" unless bytes.is_a?(String)

        unless bytes.bytesize >= HEADER_BYTES && bytes.byteslice(0, 2).b == MAGIC
          raise DecodeError.new("not Avro's single-object encoding", codec: "Avro", offset: 0)
        end

        named(bytes.unpack1("Q<", offset: 2))
      end

      def named(fingerprint)
        @by_fingerprint[fingerprint] ||
          raise(UnknownSchemaError.new(format("no schema with the fingerprint %016x was given", fingerprint), id: fingerprint, offset: 2))
      end
    end
  end
end
