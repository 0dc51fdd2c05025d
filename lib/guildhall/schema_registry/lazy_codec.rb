# frozen_string_literal: true

require_relative "../codec"

module Guildhall
  class SchemaRegistry
    # The codec that gives Documents where another one gives Hashes. Frozen and shareable.
    class LazyCodec
      include Guildhall::Codec

      # @param codec [Codec] whose `document` it decodes with
      # @param schemas [#native_decoder, nil] knows the schemas that have been fetched, so that their payloads are decoded in C;
      #   those of others are left for {#decode}. nil: all are.
      def initialize(codec, schemas = nil)
        @codec = codec
        @schemas = schemas
        Ractor.make_shareable(self)
      end

      # @return [Integer, nil] see {Guildhall::Codec#native_decoder}
      def native_decoder = @schemas&.native_decoder

      def registry = @codec.registry

      # @return [Hash{String=>String}] see {Codec#headers}
      def headers = @codec.headers

      # (see Codec#call)
      def decode(bytes, metadata = nil) = @codec.document(bytes, metadata)

      alias call decode
      alias document decode

      # @return [String] frozen, binary
      # @raise as the codec's own `encode` does
      def encode(object) = @codec.encode(object)

      # (see Codec#prepare)
      def prepare(payloads, metadata = nil)
        @codec.prepare(payloads, metadata)
        self
      end

      # @return [Array<Object>] in order
      # @raise as the codec's own `decode_batch` does
      def decode_batch(payloads)
        prepare(payloads) if Ractor.main?
        super
      end

      # @return [LazyCodec] itself
      def lazy = self
      # @return [LazyCodec] itself: it cannot change
      def dup = self
      # @return [LazyCodec] itself
      def clone(**) = self
    end
  end
end
