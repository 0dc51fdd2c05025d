# frozen_string_literal: true

module Guildhall
  class Schema
    # What a value can be, as the bits of `ext/guildhall/schema/program.h`.
    module TypeMask
      BITS = {
        "null" => 1, "boolean" => 2, "integer" => 4, "number" => 12, "string" => 16, "array" => 32, "object" => 64
      }.freeze
      ANY = 255
      STRING = 16
      ARRAY = 32
      OBJECT = 64
      NUMBER = 12

      # Which kinds an operation says something about.
      APPLIES = {
        never: ANY, enum: ANY,
        minimum: NUMBER, maximum: NUMBER, exclusive_minimum: NUMBER, exclusive_maximum: NUMBER, multiple_of: NUMBER,
        min_length: STRING, max_length: STRING, pattern: STRING, format: STRING, format_call: STRING,
        min_items: ARRAY, max_items: ARRAY, unique_items: ARRAY, items: ARRAY, contains: ARRAY, unevaluated_items: ARRAY,
        min_properties: OBJECT, max_properties: OBJECT, properties: OBJECT, dependent_required: OBJECT,
        dependent_schemas: OBJECT, unevaluated_properties: OBJECT,
        all_of: ANY, any_of: ANY, one_of: ANY, not: ANY, if: ANY, ref: ANY, dynamic_ref: ANY, custom: ANY
      }.freeze

      def self.of(types)
        Array(types).reduce(0) { |bits, type| bits | BITS.fetch(type) }
      end
    end
  end
end
