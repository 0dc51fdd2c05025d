# frozen_string_literal: true

module Guildhall
  module Kafka
    module CLI
      # The codecs that commands know by name.
      module MessageCodec
        REGISTRY = "SCHEMA_REGISTRY_URL" # an environment variable
        # Those of a registry, by the file of each.
        CONFLUENT = {"avro" => "avro", "json-schema" => "json", "protobuf" => "protobuf"}.freeze
        NAMES = ["json", "msgpack", *CONFLUENT.keys, "report", "none"].freeze
        private_constant :CONFLUENT

        # A registry is needed, and not named.
        class NoRegistryError < Guildhall::ArgumentError; end

        # @param registry [String, nil] the URL of a schema registry; nil: that of the environment
        # @param topic [String, nil] to encode for; nil: it only decodes
        # @return [Codec, nil] nil: none
        # @raise [NoRegistryError]
        def self.of(name, registry, topic: nil)
          case name
          when "none" then return
          when "json"
            require "guildhall/json"
            return JSON
          when "msgpack"
            require "guildhall/msgpack"
            return MessagePack
          when "report"
            require_relative "../reporting/record"
            return Reporting::Record
          end

          url = registry || ENV.fetch(REGISTRY) do
            raise NoRegistryError, "--codec #{name} needs a schema registry: --registry URL, or #{REGISTRY} in the environment"
          end
          require "guildhall/schema_registry"
          require "guildhall/#{CONFLUENT.fetch(name)}"
          format = {"avro" => :Avro, "json-schema" => :JSON, "protobuf" => :Protobuf}.fetch(name)
          Guildhall.const_get(format).const_get(:Confluent).new(SchemaRegistry.new(url), topic:)
        end
      end
    end
  end
end
