# frozen_string_literal: true

module Guildhall
  class Schema
    # What a value can be, as the bits of `ext/guildhall/schema/program.h`.
    module TypeMask
      BITS = {
        "null" => 1, "boolean" => 2, "integer" => 4, "number" => 12, "string" => 16, "array" => 32, "object" => 64
      }.freeze
      ANY = 255

      def self.of(types)
        Array(types).reduce(0) { |bits, type| bits | BITS.fetch(type) }
      end
    end
  end
end
