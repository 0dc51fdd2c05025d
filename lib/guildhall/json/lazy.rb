# frozen_string_literal: true

module Guildhall
  class JSON
    # The codec that gives Documents. Made by {JSON#lazy} or {JSON.lazy}.
    class Lazy
      include Codec

      # @!method decode(bytes)
      #   @return [ObjectDocument, ArrayDocument, Object] see {JSON.document}
      #   @raise [ParseError]
      # @!method native_decoder
      #   @return [Integer] the address of its `guildhall_decoder`

      # @return [Lazy] itself: it cannot change
      def dup = self
      # @return [Lazy] itself
      def clone(**) = self
    end
  end
end
