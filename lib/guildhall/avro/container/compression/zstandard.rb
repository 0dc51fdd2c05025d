# frozen_string_literal: true

module Guildhall
  class Avro
    module Container
      module Compression
        # Frames of Zstandard, by the gem zstd-ruby.
        module Zstandard
          PIECE_BYTES = 256 # a byte can expand to a block of 128 KiB: not too many of them at once
          private_constant :PIECE_BYTES

          def self.compress(bytes) = ::Zstd.compress(bytes)

          # Piece by piece: a small block may hold gigabytes.
          def self.decompress(bytes, limit)
            stream = ::Zstd::StreamingDecompress.new
            made = "".b
            (0...bytes.bytesize).step(PIECE_BYTES) do |from|
              made << stream.decompress(bytes.byteslice(from, PIECE_BYTES))
              raise Compression.too_long if made.bytesize > limit
            end
            made
          rescue RuntimeError => error # the gem's own
            raise error if error.is_a?(Guildhall::Error)

            raise Compression.broken(error)
          end
        end
      end
    end
  end
end
