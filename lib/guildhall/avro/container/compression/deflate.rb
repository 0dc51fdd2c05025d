# frozen_string_literal: true

module Guildhall
  class Avro
    module Container
      module Compression
        # RFC 1951, without a header.
        module Deflate
          def self.compress(bytes)
            require "zlib"
            Zlib::Deflate.new(Zlib::DEFAULT_COMPRESSION, -Zlib::MAX_WBITS).then do |stream|
              stream.deflate(bytes, Zlib::FINISH)
            ensure
              stream.close
            end
          end

          # Piece by piece: a small block may hold gigabytes.
          def self.decompress(bytes, limit)
            require "zlib"
            inflate(Zlib::Inflate.new(-Zlib::MAX_WBITS), bytes, limit)
          rescue Zlib::Error => error
            raise Compression.broken(error)
          end

          def self.inflate(stream, bytes, limit)
            made = "".b
            stream.inflate(bytes) do |piece|
              made << piece
              raise Compression.too_long if made.bytesize > limit
            end
            made << stream.finish
          ensure
            stream.close
          end
          private_class_method :inflate
        end
      end
    end
  end
end
