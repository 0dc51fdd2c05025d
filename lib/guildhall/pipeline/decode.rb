# frozen_string_literal: true

module Guildhall
  class Pipeline
    # Bytes in, a frozen object out, by a codec.
    class Decode < Stage
      def initialize(codec, name: :decode)
        super
      end

      def codec
        @callable
      end

      # All payloads by the codec's own `decode_batch`, where it brings one.
      # @return [Array, nil] nil: the codec decodes them one by one
      # @raise what the codec raises; nothing is known about single payloads then
      def call_batch(payloads, _metadata = nil)
        return unless codec.respond_to?(:decode_batch) && codec.method(:decode_batch).owner != Codec

        values = codec.decode_batch(payloads)
        return values if values.size == payloads.size

        raise BatchSizeError, "#{name}: decode_batch answered #{values.size} for #{payloads.size} payloads"
      end
    end
  end
end
