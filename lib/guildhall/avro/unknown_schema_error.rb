# frozen_string_literal: true

module Guildhall
  class Avro
    # A payload names a schema that nobody here has.
    class UnknownSchemaError < DecodeError
      # @return [Integer, nil] the registry's id, or the fingerprint of a single-object encoding
      attr_reader :id

      # @param reason [String]
      # @param id [Integer, nil]
      def initialize(reason = nil, id: nil, **)
        @id = id
        super(reason, codec: "Avro", **)
      end
    end
  end
end
