# frozen_string_literal: true

module Guildhall
  class MessagePack
    # The codec that gives Documents. Made by {MessagePack#lazy} or {MessagePack.lazy}.
    class Lazy < MessagePack
      # @!method decode(bytes)
      #   @return [MapDocument, ArrayDocument, Object] see {MessagePack.document}
      #   @raise [DecodeError]
      # @!method native_decoder
      #   @return [Integer] the address of its `guildhall_decoder`

      class << self
        undef_method :decode, :call, :document, :encode
      end

      # @param codec [MessagePack] whose options it takes over
      def initialize(codec) # rubocop:disable Lint/MissingSuper -- the options have been checked
        @types_by_number = codec.types_by_number
        @types_by_class = codec.types_by_class
        copy_options(codec)
        share
      end

      # @return [Lazy] itself
      def lazy = self
    end
  end
end
