# frozen_string_literal: true

module Guildhall
  class Pipeline
    # Bytes in, a frozen object out, by a codec.
    class Decode < Stage
      # @param codec [Codec]
      # @param name [Symbol]
      def initialize(codec, name: :decode)
        super
      end

      # @return [Codec]
      def codec
        @callable
      end
    end
  end
end
