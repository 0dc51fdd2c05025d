# frozen_string_literal: true

module Guildhall
  class Avro
    module Container
      module Compression
        # Frames of Zstandard (RFC 8878), by the gem zstd-ruby. Skippable frames are no data.
        module Zstandard
          PIECE_BYTES = 256 # a byte can expand to a block of 128 KiB: not too many of them at once
          private_constant :PIECE_BYTES

          def self.compress(bytes) = ::Zstd.compress(bytes)

          # Piece by piece: a small block may hold gigabytes. Frame by frame: the gem drops what follows the end of a frame within
          # a piece, and takes a frame that is cut off for a whole one.
          def self.decompress(bytes, limit)
            stream = ::Zstd::StreamingDecompress.new
            made = "".b
            Frames.new(bytes).each do |from, to|
              (from...to).step(PIECE_BYTES) do |at|
                made << stream.decompress(bytes.byteslice(at, [PIECE_BYTES, to - at].min))
                raise Compression.too_long if made.bytesize > limit
              end
            end
            made
          rescue RuntimeError => error # the gem's own
            raise error if error.is_a?(Guildhall::Error)

            raise Compression.broken(error)
          end

          # Where the frames of a block begin and end, by their headers.
          class Frames
            MAGIC = 0xFD2FB528
            SKIPPABLE = (0x184D2A50..0x184D2A5F)
            CHECKSUM_BYTES = 4
            DICTIONARY_BYTES = [0, 1, 2, 4].freeze
            CONTENT_BYTES = [0, 2, 4, 8].freeze
            REPEATED = 1 # kinds of blocks
            RESERVED = 3
            private_constant :MAGIC, :SKIPPABLE, :CHECKSUM_BYTES, :DICTIONARY_BYTES, :CONTENT_BYTES, :REPEATED, :RESERVED

            def initialize(bytes)
              @bytes = bytes
              @size = bytes.bytesize
              @at = 0
            end

            # @yieldparam from [Integer] of a frame with data
            # @yieldparam to [Integer] the end of it
            # @raise [DecodeError]
            def each
              while @at < @size
                from = @at
                magic = number(4)
                if SKIPPABLE.cover?(magic) then skip(number(4))
                elsif magic == MAGIC
                  pass_frame
                  yield from, @at
                else raise Compression.decode_error("block cannot be decompressed: no frame of Zstandard at its byte #{from}")
                end
              end
            end

            private

            def pass_frame
              descriptor = number(1)
              single_segment = descriptor[5]
              content = CONTENT_BYTES[descriptor >> 6]
              content = 1 if content.zero? && single_segment == 1
              skip(1 - single_segment + DICTIONARY_BYTES[descriptor & 3] + content)
              pass_blocks
              skip(CHECKSUM_BYTES) if descriptor[2] == 1
            end

            def pass_blocks
              loop do
                head = number(3)
                kind = (head >> 1) & 3
                raise Compression.decode_error("block cannot be decompressed: a block of a reserved kind in a frame") if kind == RESERVED

                skip(kind == REPEATED ? 1 : head >> 3)
                break if head.odd? # it is the last
              end
            end

            def number(size)
              from = @at
              skip(size)
              return @bytes.unpack1("V", offset: from) if size == 4

              value = @bytes.getbyte(from)
              size == 1 ? value : value | (@bytes.getbyte(from + 1) << 8) | (@bytes.getbyte(from + 2) << 16)
            end

            def skip(size)
              @at += size
              raise Compression.cut_off if @at > @size
            end
          end
          private_constant :Frames
        end
      end
    end
  end
end
