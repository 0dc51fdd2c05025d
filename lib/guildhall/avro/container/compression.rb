# frozen_string_literal: true

module Guildhall
  class Avro
    module Container
      # How blocks are compressed: by name, as it stands in a file.
      module Compression
        NAMES = %w[null deflate snappy zstandard].freeze

        # @param name [String] one of NAMES
        # @return [#compress, #decompress]
        # @raise [DecodeError] for an unknown name
        # @raise [MissingDependencyError] naming the gem to add
        def self.named(name)
          case name
          when nil, "null" then Null
          when "deflate" then Deflate
          when "snappy" then gem("snappy", "snappy") && Snappy
          when "zstandard" then gem("zstd-ruby", "zstd-ruby") && Zstandard
          else raise DecodeError.new("unknown compression #{name.inspect}; there are #{NAMES.join(", ")}", codec: "Avro")
          end
        end

        def self.gem(name, feature)
          require feature
          true
        rescue LoadError
          raise MissingDependencyError, "files compressed so need the gem #{name}: add it to the Gemfile"
        end
        private_class_method :gem

        # Not at all.
        module Null
          def self.compress(bytes) = bytes
          def self.decompress(bytes, _limit) = bytes
        end

        # RFC 1951, without a header.
        module Deflate
          PIECE = 64 * 1024

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
            raise DecodeError.new("block cannot be decompressed: #{error.message}", codec: "Avro")
          end

          def self.inflate(stream, bytes, limit)
            made = "".b
            stream.inflate(bytes) do |piece|
              made << piece
              raise DecodeError.new("block is longer than max_bytes when decompressed", codec: "Avro") if made.bytesize > limit
            end
            made << stream.finish
          ensure
            stream.close
          end
          private_class_method :inflate
        end

        # With the checksum of what was compressed behind it.
        module Snappy
          def self.compress(bytes) = [::Snappy.deflate(bytes), checksum(bytes)].pack("a*N")

          def self.decompress(bytes, limit)
            made = ::Snappy.inflate(bytes.byteslice(0...-4))
            return made if made.bytesize <= limit && checksum(made) == bytes.byteslice(-4..)&.unpack1("N")

            raise DecodeError.new("block fails its checksum, or is longer than max_bytes", codec: "Avro")
          end

          def self.checksum(bytes)
            require "zlib"
            Zlib.crc32(bytes)
          end
          private_class_method :checksum
        end

        # Zstandard frames.
        module Zstandard
          def self.compress(bytes) = ::Zstd.compress(bytes)

          def self.decompress(bytes, limit)
            made = ::Zstd.decompress(bytes)
            made.bytesize <= limit ? made : raise(DecodeError.new("block is longer than max_bytes when decompressed", codec: "Avro"))
          end
        end
      end
    end
  end
end
