# frozen_string_literal: true

module Guildhall
  class Doctor
    # What is known of gems that do not work in Ractors, from having tried them, and what to use in a task instead.
    module KnownGems
      # Gem => the module that a task would name, what is wrong, what to do instead.
      GEMS = {
        "activesupport" => ["ActiveSupport::JSON", "keeps its settings in class variables", "use Guildhall::JSON"],
        "avro" => ["Avro", "keeps its settings and its types in class-level variables and constants that are not shareable", "use Guildhall::Avro"],
        "dry-schema" => ["Dry::Schema", "builds schemas of blocks that are not shareable", "use Guildhall::Schema.contract"],
        "dry-validation" => ["Dry::Validation", "builds contracts of blocks that are not shareable", "use Guildhall::Schema.contract"],
        "google-protobuf" => ["Google::Protobuf", "is written in C, and is not safe to use in Ractors",
                              "use Guildhall::Protobuf, which decodes in the main Ractor"],
        "json_schemer" => ["JSONSchemer", "keeps its meta-schemas and its configuration in variables that are not shareable", "use Guildhall::Schema"],
        "jsonschema_rs" => ["JSONSchema", "is written in Rust, and does not say that it is safe to use in Ractors", "use Guildhall::Schema"],
        "msgpack" => [nil, "its default factory is not shareable", "use Guildhall::MessagePack, or Guildhall::Task.per_worker with a MessagePack::Factory"],
        "multi_json" => ["MultiJson", "calls methods that were made of blocks, and keeps its adapter in variables that are not shareable",
                         "use Guildhall::JSON"],
        "nokogiri" => ["Nokogiri", "is written in C, and does not say that it is safe to use in Ractors",
                       "parse in the main Ractor, or in processes of their own (the gem parallel)"],
        "simdjson" => ["Simdjson", "is written in C, and does not say that it is safe to use in Ractors", "use Guildhall::JSON"],
        "sqlite3" => ["SQLite3", "is written in C, and does not say that it is safe to use in Ractors", "query it in the main Ractor"],
        "tzinfo" => ["TZInfo", "keeps its time zones in class variables", "convert times in the main Ractor"],
        "yajl-ruby" => ["Yajl", "is written in C, and does not say that it is safe to use in Ractors", "use Guildhall::JSON"]
      }.transform_values(&:freeze).freeze
      MODULES = GEMS.to_h { |gem, (name, *)| [name, gem] }.freeze
      private_constant :GEMS, :MODULES

      # @return [Array(String, String), nil] what is wrong, and what to do instead; nil: nothing is known
      def self.[](gem) = GEMS[gem]&.last(2)

      def self.of(type)
        gem = MODULES.find { |name, _| name && Inspection.label(type).match?(/\A#{name}(?:::|\z)/) }&.last
        problem, advice = GEMS[gem]&.last(2)
        ["comes from the gem #{gem}, which #{problem}", advice] if gem
      end
    end
  end
end
