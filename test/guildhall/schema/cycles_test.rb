# frozen_string_literal: true

require "test_helper"
require "guildhall/schema"

class SchemaCyclesTest < GuildhallTest
  ENDLESS = [
    {"$ref" => "#"}, {"allOf" => [{"$ref" => "#"}]}, {"not" => {"$ref" => "#"}}, {"anyOf" => [true, {"$ref" => "#"}]},
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

  def test_schemas_that_apply_themselves_to_parts_of_it
    FINITE.each { |schema| assert Guildhall::Schema.new(schema).validator }
  end
end
