# frozen_string_literal: true

require_relative "../schema_registry/errors"

module Guildhall
  class Avro
    # An Avro schema is not valid; the message names the place in it.
    class SchemaError < Guildhall::SchemaError; end

    # What was written with one schema cannot be read with the other; the message names the place.
    class MismatchError < SchemaError; end

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
