# frozen_string_literal: true

module Guildhall
  class SchemaRegistry
    # What a registry knows about a schema. Frozen, shareable.
    # @!attribute id [Integer, nil] nil where it was asked for by its GUID
    # @!attribute guid [String, nil] the same in every registry that the schema is copied to; nil: the registry is too old
    # @!attribute type [String] AVRO, JSON or PROTOBUF
    # @!attribute schema [String] its text
    # @!attribute references [Array<Hash>] name, subject and version of what it refers to
    # @!attribute subject [String, nil]
    # @!attribute version [Integer, nil]
    Entry = Data.define(:id, :type, :schema, :references, :subject, :version, :guid) do
      # @api private
      def self.from(data)
        entry = new(id: data["id"], type: data["schemaType"] || "AVRO", schema: data.fetch("schema"),
          references: data["references"] || [], subject: data["subject"], version: data["version"], guid: data["guid"])
        Ractor.make_shareable(entry)
      end

      # @return [Boolean]
      def avro? = type == "AVRO"
      # @return [Boolean]
      def json? = type == "JSON"
      # @return [Boolean]
      def protobuf? = type == "PROTOBUF"
    end
  end
end
