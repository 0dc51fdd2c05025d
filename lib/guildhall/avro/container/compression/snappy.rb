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
            raise Compression.cut_off if bytes.bytesize <= CHECKSUM_BYTES

            compressed = bytes.byteslice(0...-CHECKSUM_BYTES)
            raise Compression.too_long if announced(compressed) > limit

            verified(::Snappy.inflate(compressed), bytes)
          rescue ::Snappy::Error => error
            raise cut_off?(bytes) ? Compression.cut_off : Compression.broken(error)
          end

          # How long it says it will be: the gem believes it and makes room at once.
          def self.announced(compressed)
            compressed.each_byte.first(LENGTH_BYTES).each_with_index.inject(0) do |length, (byte, index)|
              length |= (byte & 0x7f) << (7 * index)
              byte < 0x80 ? (break length) : length
            end
          end

          def self.verified(made, bytes)
            return made if checksum(made) == bytes.byteslice(-CHECKSUM_BYTES..).unpack1("N")

            raise cut_off?(bytes) ? Compression.cut_off : Compression.decode_error("block fails its checksum")
          end

          def self.checksum(bytes)
            require "zlib"
            Zlib.crc32(bytes)
          end

          # Of a block that could not be read: does it end before it has as many bytes as it says, and their checksum?
          def self.cut_off?(bytes)
            left = announced(bytes)
            at = bytes.each_byte.first(LENGTH_BYTES).take_while { |byte| byte >= 0x80 }.size + 1
            while left.positive?
              return true if at >= bytes.bytesize

              length, at = element(bytes, at)
              left -= length
            end
            at + CHECKSUM_BYTES > bytes.bytesize
          end

          # @return [Array(Integer, Integer)] how many bytes the literal or the copy at this place makes, and where the next begins
          def self.element(bytes, at)
            tag = bytes.getbyte(at)
            return [((tag >> 2) & 7) + 4, at + 2] if tag & 3 == 1
            return [(tag >> 2) + 1, at + (tag & 3 == 2 ? 3 : 5)] if tag.anybits?(3)
            return [(tag >> 2) + 1, at + (tag >> 2) + 2] if tag >> 2 < 60

            width = (tag >> 2) - 59
            length = bytes.byteslice(at + 1, width).ljust(4, "\0").unpack1("V") + 1
            [length, at + 1 + width + length]
          end
          private_class_method :announced, :verified, :checksum, :cut_off?, :element
        end
      end
    end
  end
end
