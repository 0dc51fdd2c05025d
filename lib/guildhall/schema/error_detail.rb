# frozen_string_literal: true

module Guildhall
  class Schema
    LOCATION_CHARACTERS = 300
    private_constant :LOCATION_CHARACTERS

    # One validation error, as data. Frozen and shareable.
    #
    # - `instance_location` [String] JSON Pointer to the part of the value that is wrong; "" is the whole
    # - `schema_location` [String] the keyword that says so, `"#/properties/age/minimum"`
    # - `keyword` [String] `"minimum"`
    # - `message` [String] what is wrong, in words that follow the location: `"is less than 0"`. Quotes the schema and
    #   names of properties, never values.
    # - `causes` [Array<ErrorDetail>] of `anyOf` and `oneOf`: why no branch holds; empty otherwise
    ErrorDetail = Data.define(:instance_location, :schema_location, :keyword, :message, :causes) do
      # @param raw [Array] what the walker recorded: keyword, path, the schema's location, operand, detail, causes
      def self.of(raw)
        keyword, path, location, operand, detail, causes = raw
        Ractor.make_shareable(new(
          instance_location: Pointer.build(path), schema_location: Messages.location(location, keyword, detail), keyword:,
          message: Messages.message(keyword, operand, detail), causes: causes.to_a.map { |cause| of(cause) }
        ))
      end

      # @return [String] `/user/age is less than 0`: one line that is safe to log, whatever the properties are called
      def to_s
        "#{instance_location.empty? ? "the value" : Printable.words(instance_location, LOCATION_CHARACTERS)} #{message}"
      end
    end
  end
end
