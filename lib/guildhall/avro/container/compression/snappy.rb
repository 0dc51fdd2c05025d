# frozen_string_literal: true

require "zlib"

module Guildhall
  class Avro
    module Container
      module Compression
        # By the gem snappy; a checksum of the uncompressed bytes follows, four bytes.
        module Snappy
          CHECKSUM_BYTES = 4
          LENGTH_BYTES = 5 # at most: seven bits in each
          LONG_LITERAL = 60 << 2
          # How many bytes a literal or a copy makes, and how many it takes itself, by its tag.
          MADE = Array.new(256) { |tag| tag & 3 == 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1 }.freeze
          TAKEN = Array.new(256) { |tag| [(tag >> 2) + 2, 2, 3, 5][tag & 3] }.freeze
          private_constant :CHECKSUM_BYTES, :LENGTH_BYTES, :LONG_LITERAL, :MADE, :TAKEN

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
            Zlib.crc32(bytes)
          end

          # Of a block that could not be read: does it end before it has as many bytes as it says, and their checksum?
          def self.cut_off?(bytes)
            left = announced(bytes)
            at = bytes.each_byte.first(LENGTH_BYTES).take_while { |byte| byte >= 0x80 }.size + 1
            while left.positive? && (tag = bytes.getbyte(at))
              if tag >= LONG_LITERAL && tag.nobits?(3)
                length = long_literal(bytes, at, tag)
                left -= length
                at += length + (tag >> 2) - 58
              else
                left -= MADE[tag]
                at += TAKEN[tag]
              end
            end
            left.positive? || at + CHECKSUM_BYTES > bytes.bytesize
          end

          # How long it is, in one to four bytes after the tag.
          def self.long_literal(bytes, at, tag) = bytes.byteslice(at + 1, (tag >> 2) - 59).ljust(4, "\0").unpack1("V") + 1
          private_class_method :announced, :verified, :checksum, :cut_off?, :long_literal
        end
      end
    end
  end
end
