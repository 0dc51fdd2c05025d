# frozen_string_literal: true

module Guildhall
  class Avro
    # The codec that gives Documents. Made by the `lazy` of {Avro} and {SingleObject}.
    class Lazy
      include Codec

      # @param codec [Avro, SingleObject] whose Documents it gives
      # @param source [Program, Directory] whose native decoder it has
      def initialize(codec, source)
        @codec = codec
        @source = source
        Ractor.make_shareable(self)
      end

      # @return [MapDocument, ArrayDocument, Object] see {Avro#document}
      # @raise [DecodeError]
      def decode(bytes) = @codec.document(bytes)

      alias call decode
      alias document decode

      # @return [String] frozen, binary
      # @raise [EncodeError]
      def encode(object) = @codec.encode(object)

      # @return [Integer] the address of its `guildhall_decoder`
      def native_decoder = @source.native_decoder

      # @return [Lazy] itself
      def lazy = self
      # @return [Lazy] itself: it cannot change
      def dup = self
      # @return [Lazy] itself
      def clone(**) = self
    end
  end
end
