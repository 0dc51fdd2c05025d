# frozen_string_literal: true

require_relative "../schema_registry/unknown_schema_error"

module Guildhall
  class Avro
    # A payload names an unknown schema: by the registry's id or GUID, or by the fingerprint of a single-object
    # encoding.
    class UnknownSchemaError < SchemaRegistry::UnknownSchemaError
      # (see SchemaRegistry::UnknownSchemaError#initialize)
      def initialize(reason = nil, id: nil, **)
        super(reason, id:, codec: "Avro", **)
      end
    end
  end
end
