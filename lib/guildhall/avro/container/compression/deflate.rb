# frozen_string_literal: true

require "zlib"

module Guildhall
  class Avro
    module Container
      module Compression
        # RFC 1951, without a header. Python's libraries leave three bytes of a checksum behind the stream: what follows its
        # end is no data, as for Java.
        module Deflate
          def self.compress(bytes)
            Zlib::Deflate.new(Zlib::DEFAULT_COMPRESSION, -Zlib::MAX_WBITS).then do |stream|
              stream.deflate(bytes, Zlib::FINISH)
            ensure
              stream.close
            end
          end

          # Piece by piece: a small block may hold gigabytes.
          def self.decompress(bytes, limit)
            inflate(Zlib::Inflate.new(-Zlib::MAX_WBITS), bytes, limit)
          rescue Zlib::BufError
            raise Compression.cut_off
          rescue Zlib::Error => error
            raise Compression.broken(error)
          end

          # Ruby's Inflate appends what follows the end of the stream to what it returns, and does not count it.
          def self.inflate(stream, bytes, limit)
            made = "".b
            stream.inflate(bytes) do |piece|
              made << piece
              raise Compression.too_long if stream.total_out > limit
            end
            (made << stream.finish).byteslice(0, stream.total_out)
          ensure
            stream.reset # closed unfinished, it warns
            stream.close
          end
          private_class_method :inflate
        end
      end
    end
  end
end
