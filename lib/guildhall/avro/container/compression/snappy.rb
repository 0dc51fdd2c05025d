# frozen_string_literal: true

module Guildhall
  class Avro
    module Container
      module Compression
        # By the gem snappy; a checksum of the uncompressed bytes follows, four bytes.
        module Snappy
          CHECKSUM_BYTES = 4
          LENGTH_BYTES = 5 # at most: seven bits in each
          private_constant :CHECKSUM_BYTES, :LENGTH_BYTES

          def self.compress(bytes) = [::Snappy.deflate(bytes), checksum(bytes)].pack("a*N")

          def self.decompress(bytes, limit)
            raise Compression.decode_error("block is cut off") if bytes.bytesize <= CHECKSUM_BYTES

            compressed = bytes.byteslice(0...-CHECKSUM_BYTES)
            raise Compression.too_long if announced(compressed) > limit

            verified(::Snappy.inflate(compressed), bytes.byteslice(-CHECKSUM_BYTES..).unpack1("N"))
          rescue ::Snappy::Error => error
            raise Compression.broken(error)
          end

          # How long it says it will be: the gem believes it and makes room at once.
          def self.announced(compressed)
            compressed.each_byte.first(LENGTH_BYTES).each_with_index.inject(0) do |length, (byte, index)|
              length |= (byte & 0x7f) << (7 * index)
              byte < 0x80 ? (break length) : length
            end
          end

          def self.verified(made, checksum)
            checksum(made) == checksum ? made : raise(Compression.decode_error("block fails its checksum"))
          end

          def self.checksum(bytes)
            require "zlib"
            Zlib.crc32(bytes)
          end
          private_class_method :announced, :verified, :checksum
        end
      end
    end
  end
end
