# frozen_string_literal: true

require "test_helper"
require "guildhall/schema"

class SchemaCyclesTest < GuildhallTest
  ENDLESS = [
    {"$ref" => "#"}, {"allOf" => [{"$ref" => "#"}]}, {"not" => {"$ref" => "#"}}, {"anyOf" => [{"$ref" => "#"}, true]},
    {"$defs" => {"a" => {"$ref" => "#/$defs/b"}, "b" => {"oneOf" => [{"$ref" => "#/$defs/a"}]}}, "$ref" => "#/$defs/a"}
  ].freeze
  # Each applies itself to a part of the value, which ends.
  FINITE = [
    {"properties" => {"a" => {"$ref" => "#"}}}, {"items" => {"$ref" => "#"}}, {"additionalProperties" => {"allOf" => [{"$ref" => "#"}]}},
    {"$defs" => {"a" => {"type" => "string"}}, "allOf" => [{"$ref" => "#/$defs/a"}, {"$ref" => "#/$defs/a"}]}
  ].freeze

  def test_schemas_that_apply_themselves_to_the_same_value
    ENDLESS.each do |schema|
      error = assert_raises(Guildhall::SchemaError, schema.inspect) { Guildhall::Schema.new(schema).validator }
      assert_includes error.message, "refers to itself without end"
    end
  end

  # A part of the schema loops, for values that have this property or get to this branch.
  SOMETIMES = {
    {"properties" => {"a" => {"allOf" => [{"$ref" => "#/properties/a"}]}}} => [{"b" => 1}, {"a" => 1}],
    {"definitions" => {"a" => {"anyOf" => [{"type" => "null"}, {"$ref" => "#/definitions/a"}]}}, "items" => {"$ref" => "#/definitions/a"}} => [[nil], [1]],
    {"anyOf" => [{"type" => "object"}, {"$ref" => "#"}]} => [{}, [1]],
    {"if" => {"type" => "object"}, "else" => {"$ref" => "#"}} => [{"a" => 1}, [1]],
    {"dependentSchemas" => {"a" => {"$ref" => "#"}}} => [{"b" => 1}, {"a" => 1}]
  }.freeze

  def test_schemas_that_apply_themselves_to_some_values
    SOMETIMES.each do |schema, (finite, endless)|
      validator = Guildhall::Schema.new(schema).validator
      [finite, Guildhall::JSON.document(Guildhall::JSON.encode(finite))].each do |value|
        assert validator.valid?(value), schema.inspect
        assert_empty validator.errors(value)
      end
      [endless, Guildhall::JSON.document(Guildhall::JSON.encode(endless))].each do |value|
        error = assert_raises(Guildhall::Schema::LimitError, schema.inspect) { validator.valid?(value) }
        assert_match(/applies itself to the same value/, error.message)
        assert_raises(Guildhall::Schema::LimitError) { validator.errors(value) }
      end
    end
  end

  def test_schemas_that_apply_themselves_to_parts_of_it
    FINITE.each { |schema| assert Guildhall::Schema.new(schema).validator }
  end
end
