# frozen_string_literal: true

module Guildhall
  class SchemaRegistry
    # What a registry knows about a schema. Frozen, shareable.
    # @api private
    Entry = Data.define(:id, :type, :schema, :references, :subject, :version, :guid) do
      # @api private
      def self.from(data)
        entry = new(id: data["id"], type: data["schemaType"] || "AVRO", schema: data.fetch("schema"),
          references: data["references"] || [], subject: data["subject"], version: data["version"], guid: data["guid"])
        Ractor.make_shareable(entry)
      end

      def avro? = type == "AVRO"
      def json? = type == "JSON"
      def protobuf? = type == "PROTOBUF"
    end
  end
end
