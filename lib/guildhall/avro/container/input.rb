# frozen_string_literal: true

require "stringio"

module Guildhall
  class Avro
    module Container
      # A file's bytes, in order: everything that is asked for is there, or the file is cut off.
      # @api private
      class Input
        # @return [Integer] bytes read so far
        attr_reader :offset

        def initialize(source)
          @io = source.is_a?(String) ? StringIO.new(source) : source
          @offset = 0
        end

        def end? = @io.eof?

        def read(length, limit = Float::INFINITY)
          refuse("a length of #{length} bytes") unless length.between?(0, limit)

          bytes = @io.read(length) || ""
          refuse("unexpected end of input") if bytes.bytesize < length
          @offset += length
          bytes
        end

        # @return [Integer] a long, as Avro writes it
        def number
          value = 10.times.inject(0) do |sum, index|
            byte = read(1).getbyte(0)
            sum |= (byte & 0x7f) << (7 * index)
            break sum if byte < 0x80

            index == 9 ? refuse("number beyond the range of its type") : sum
          end
          refuse("number beyond the range of its type") if value >= 2**64
          (value >> 1) ^ -(value & 1)
        end

        # @raise [DecodeError]
        def refuse(reason, excerpt: nil, offset: @offset)
          raise DecodeError.new("container file: #{reason}", codec: "Avro", offset:, excerpt:)
        end
      end
    end
  end
end
