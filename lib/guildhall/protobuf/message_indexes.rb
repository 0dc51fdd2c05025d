# frozen_string_literal: true

module Guildhall
  class Protobuf
    # The message indexes of Confluent's wire format, which say which message type of its file a payload is: the index of the message
    # in the file, then of the message nested in it, and so on. Encoded as a count and zigzag varints; a single 0 means [0].
    # @see https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format
    # @api private
    module MessageIndexes
      MOST_BYTES = 5 # of a varint of 32 bits

      # @return [Array(Array<Integer>, Integer)] indexes, and where they end
      # @raise [DecodeError]
      def self.read(bytes, offset)
        count, offset = varint(bytes, offset)
        return [[0].freeze, offset] if count.zero?

        indexes = []
        raise error(offset) unless count.between?(1, bytes.bytesize)

        count.times do
          index, offset = varint(bytes, offset)
          indexes << index
        end
        [indexes, offset]
      end

      # @return [String] binary
      def self.write(indexes)
        return "\0".b if indexes == [0]

        [indexes.size, *indexes].map { |number| leb(number * 2) }.join
      end

      class << self
        private

        def varint(bytes, offset)
          value = 0
          MOST_BYTES.times do |place|
            byte = bytes.getbyte(offset + place) or raise error(offset)
            value |= (byte & 0x7f) << (7 * place)
            return [(value >> 1) ^ -(value & 1), offset + place + 1] if byte < 0x80
          end
          raise error(offset)
        end

        def leb(value)
          out = "".b
          while value >= 0x80
            out << ((value & 0x7f) | 0x80)
            value >>= 7
          end
          out << value
        end

        def error(offset)
          DecodeError.new("these are not the indexes of a message (clients that write Confluent's deprecated format do so without zigzag)",
            codec: "Protobuf", offset:)
        end
      end
    end
  end
end
