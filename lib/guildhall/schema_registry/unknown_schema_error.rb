# frozen_string_literal: true

require_relative "../errors"

module Guildhall
  class SchemaRegistry
    # A payload names an unknown schema.
    class UnknownSchemaError < DecodeError
      # @return [Integer, String, nil] the registry's id or GUID
      attr_reader :id

      # @param reason [String]
      # @param id [Integer, String, nil]
      # @param codec [String]
      def initialize(reason = nil, id: nil, **)
        @id = id
        super(reason, **)
      end
    end
  end
end
