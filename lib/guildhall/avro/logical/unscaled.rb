# frozen_string_literal: true

module Guildhall
  class Avro
    class Logical
      # Big-endian two's complement ↔ Integer.
      # @api private
      module Unscaled
        # @param bytes [String] one at least
        def self.read(bytes)
          number = bytes.unpack1("H*").to_i(16)
          bytes.getbyte(0) > 127 ? number - (1 << (8 * bytes.bytesize)) : number
        end

        # @param width [Integer, nil] bytes; nil: as many as it takes
        # @return [String, nil] nil for what the width has no room for
        def self.write(number, width = nil)
          width ||= [((number.negative? ? ~number : number).bit_length / 8) + 1, 1].max
          return if number.bit_length >= 8 * width

          [(number & ((1 << (8 * width)) - 1)).to_s(16).rjust(2 * width, "0")].pack("H*")
        end
      end
    end
  end
end
