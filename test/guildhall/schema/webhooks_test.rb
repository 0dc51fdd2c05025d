# frozen_string_literal: true

require "test_helper"
require "json"
require "guildhall/schema"
require "json_schemer"
require "support/schema_in_rust"

# Real deliveries against their events' own definitions, verdict for verdict beside two other implementations.
class SchemaWebhooksTest < GuildhallTest
  FOLDER = File.expand_path("../../../vendor/webhooks", __dir__)
  DEFINITIONS = JSON.parse(File.read(File.join(FOLDER, "webhooks-schemas/schema.json"), encoding: "UTF-8")).fetch("definitions")
  DELIVERIES = JSON.parse(File.read(File.join(FOLDER, "webhooks-examples/api.github.com/index.json"), encoding: "UTF-8")).flat_map do |event|
    event.fetch("examples").map { |example| [event.fetch("name"), example] }
  end.freeze
  VALID = 276

  # Nested `$schema`s are not what the drafts allow; ours reads over them, one of the others does not.
  PLAIN = lambda do |value|
    case value
    when Hash then value.except("$schema").transform_values(&PLAIN)
    when Array then value.map(&PLAIN)
    else value
    end
  end
  DRAFT = "http://json-schema.org/draft-07/schema#"

  def test_verdicts_of_all_deliveries
    schema = Guildhall::Schema.new({"$schema" => DRAFT, "definitions" => DEFINITIONS})
    validators = events.to_h { |event| [event, schema.validator(at: "#/definitions/#{definition(event)}")] }
    ours = DELIVERIES.map { |event, value| validators[event].valid?(value) }
    documents = DELIVERIES.map { |event, value| validators[event].valid?(Guildhall::JSON.document(JSON.generate(value))) }
    assert_equal VALID, ours.count(true)
    assert_equal ours, documents
    assert_equal ours, verdicts_of_json_schemer, "json_schemer"
    assert_equal ours, verdicts_of_jsonschema_rs, "jsonschema_rs" if SchemaInRust::THERE
  end

  def test_verdicts_of_mutated_deliveries
    skip("jsonschema_rs is not there on Ruby #{RUBY_VERSION}") unless SchemaInRust::THERE
    schema = Guildhall::Schema.new({"$schema" => DRAFT, "definitions" => DEFINITIONS})
    events.each do |event|
      validator = schema.validator(at: "#/definitions/#{definition(event)}")
      reference = reference(event)
      DELIVERIES.select { |name, _| name == event }.first(4).map(&:last).each do |value|
        mutations(value).each do |mutated|
          expected = reference.valid?(mutated)
          assert_equal expected, validator.valid?(mutated)
          assert_equal expected, validator.valid?(Guildhall::JSON.document(JSON.generate(mutated)))
        end
      end
    end
  end

  private

  def events = DELIVERIES.map(&:first).uniq

  def definition(event)
    DEFINITIONS.key?("#{event}_event") ? "#{event}_event" : "#{event}$event"
  end

  def verdicts_of_json_schemer
    root = JSONSchemer.schema({"$schema" => DRAFT, "definitions" => PLAIN.call(DEFINITIONS)})
    schemas = events.to_h { |event| [event, root.ref("#/definitions/#{definition(event)}")] }
    DELIVERIES.map { |event, value| schemas[event].valid?(value) }
  end

  def verdicts_of_jsonschema_rs
    schemas = events.to_h { |event| [event, reference(event)] }
    DELIVERIES.map { |event, value| schemas[event].valid?(value) }
  end

  def reference(event)
    @definitions ||= PLAIN.call(DEFINITIONS)
    JSONSchema.validator_for({"$schema" => DRAFT, "$ref" => "#/definitions/#{definition(event)}", "definitions" => @definitions},
      validate_formats: true)
  end

  # One member at a time left out, put to null, or of another type.
  def mutations(value)
    value.keys.flat_map { |key| [value.except(key), value.merge(key => nil), value.merge(key => "x"), value.merge("#{key}x" => 1)] } +
      value.select { |_, inner| inner.is_a?(Hash) }.flat_map do |key, inner|
        inner.keys.first(6).flat_map { |name| [value.merge(key => inner.except(name)), value.merge(key => inner.merge(name => -1))] }
      end
  end
end
