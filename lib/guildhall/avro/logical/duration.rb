# frozen_string_literal: true

require_relative "../duration"

module Guildhall
  class Avro
    class Logical
      # Three little-endian numbers ↔ {Avro::Duration}.
      # @api private
      module Duration
        # @return [String] for messages
        def self.expected = "duration of three numbers within 32 bits"

        def self.decode(bytes) = Avro::Duration.new(*bytes.unpack("V3"))

        def self.encode(value)
          return unless value.is_a?(Avro::Duration)

          parts = [value.months, value.days, value.milliseconds]
          parts.pack("V3") if parts.all? { |part| part.is_a?(Integer) && part.between?(0, 0xffffffff) }
        end
      end
    end
  end
end
