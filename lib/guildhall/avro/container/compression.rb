# frozen_string_literal: true

require_relative "../../soft_dependency"
require_relative "compression/null"
require_relative "compression/deflate"
require_relative "compression/snappy"
require_relative "compression/zstandard"

module Guildhall
  class Avro
    module Container
      # How blocks are compressed: by name, as in the file. Each has `compress(bytes)` and
      # `decompress(bytes, limit)`, which makes no more than about `limit` bytes of what a hostile block says it holds.
      # @api private
      module Compression
        NAMES = %w[null deflate snappy zstandard].freeze

        # @param name [String, nil] one of NAMES; nil: null
        # @raise [DecodeError] for an unknown name
        # @raise [MissingDependencyError] naming the gem to add
        def self.named(name)
          case name
          when nil, "null" then Null
          when "deflate" then Deflate
          when "snappy" then needing("snappy", Snappy)
          when "zstandard" then needing("zstd-ruby", Zstandard)
          else raise decode_error("unknown compression #{name.inspect}; there are #{NAMES.join(", ")}")
          end
        end

        def self.needing(gem, compression)
          SoftDependency.require!(gem, gem:, purpose: "a container file that is compressed so")
          compression
        end
        private_class_method :needing

        # @api private
        # @return [DecodeError] not raised
        def self.decode_error(reason) = DecodeError.new(reason, codec: "Avro")

        # @api private
        def self.too_long = decode_error("block is longer than max_bytes when decompressed")

        # @api private
        def self.cut_off = decode_error("block is cut off: its compressed data ends too early")

        # @api private
        def self.broken(error) = decode_error("block cannot be decompressed: #{error.message}")
      end
    end
  end
end
