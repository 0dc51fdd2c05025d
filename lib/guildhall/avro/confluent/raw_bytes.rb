# frozen_string_literal: true

module Guildhall
  class Avro
    class Confluent
      # What decodes and encodes values of a schema that is `bytes`: Confluent's serializers write them as they are, without the length that
      # Avro puts before them. Logical types and the reader's schema apply to them as to others. Frozen and shareable.
      # @api private
      class RawBytes
        MORE = 0x80 # the bit of a length's byte that says that another one follows
        private_constant :MORE

        def self.for(codec) = codec.schema.root.kind == :bytes ? new(codec) : codec

        # @param codec [Avro] whose schema is `bytes`
        def initialize(codec)
          @codec = codec
          Ractor.make_shareable(self)
        end

        # @return [nil] there is no native decoder for it
        def program = nil

        # (see Avro#decode_from)
        def decode_from(bytes, from) = with_length(bytes, from) { |value| @codec.decode(value) }

        # (see Avro#document_from)
        def document_from(bytes, from) = with_length(bytes, from) { |value| @codec.document(value) }

        # (see Avro#encode_after)
        def encode_after(prefix, object)
          encoded = @codec.encode(object)
          start = (0..).find { |index| encoded.getbyte(index) < MORE } + 1
          (prefix.b << encoded.byteslice(start..)).freeze
        end

        private

        def with_length(bytes, from)
          length = length_of(bytes.bytesize - from)
          yield (length + bytes.byteslice(from..).b).freeze
        rescue DecodeError => error
          raise moved(error, from - length.bytesize)
        end

        # As Avro writes a long.
        def length_of(size)
          number = size << 1
          text = "".b
          while number >= MORE
            text << ((number & (MORE - 1)) | MORE)
            number >>= 7
          end
          text << number
        end

        # Places are those of the payload.
        def moved(error, distance)
          offset = error.offset && [error.offset + distance, 0].max
          DecodeError.new(error.reason, codec: error.codec, offset:, path: error.path, excerpt: error.excerpt)
        end
      end
    end
  end
end
