# frozen_string_literal: true

require "test_helper"
require "guildhall/avro"

class AvroSchemaParserTest < GuildhallTest
  def parse(json, references = []) = Guildhall::Avro::Schema::Parser.new(references).parse(json)

  def record(*fields, **) = {"type" => "record", "name" => "R", "fields" => fields, **}

  def test_primitives_and_what_is_made_of_them
    assert_equal :int, parse("int").kind
    assert_equal %i[array string], parse({"type" => "array", "items" => "string"}).then { |type| [type.kind, type.items.kind] }
    assert_equal :long, parse({"type" => {"type" => "map", "values" => "long"}}).items.kind
    assert_equal %i[null int], parse(%w[null int]).branches.map(&:kind)
    assert_equal "date", parse({"type" => "int", "logicalType" => "date"}).logical
  end

  def test_names_and_namespaces
    inner = {"type" => "enum", "name" => "E", "symbols" => %w[A]}
    type = parse(record({"name" => "e", "type" => inner}, {"name" => "again", "type" => "E"}, "namespace" => "a.b"))
    assert_equal ["a.b.R", "a.b.E"], [type.name, type.fields.first.type.name]
    assert_same type.fields.first.type, type.fields.last.type
    other = parse(record({"name" => "e", "type" => {**inner, "namespace" => "c"}}, {"name" => "x", "type" => "c.E"}, "namespace" => "a.b"))
    assert_equal "c.E", other.fields.last.type.name
  end

  def test_a_type_may_refer_to_itself_and_to_others
    assert_same(*parse(record({"name" => "next", "type" => %w[null R]})).then { |type| [type, type.fields.first.type.branches.last] })
    assert_equal "R", parse(%w[null R], [parse(record)]).branches.last.name
  end

  REFUSED = {
    5 => "5 is not a schema", "nope" => '"nope" is neither a type nor the name of one defined before', {} => 'no "type" in {}',
    [%w[int], "null"] => "a union directly within a union", %w[int int] => "a union with two branches int",
    {"type" => "array"} => 'no "items" in array', {"type" => "record", "name" => "R"} => 'no "fields" in record R',
    {"type" => "fixed", "name" => "F", "size" => -1} => "size of F is -1", {"type" => "fixed", "name" => "9", "size" => 1} => '"9" is not a valid name',
    {"type" => "enum", "name" => "E", "symbols" => %w[A A]} => "E has the same symbol twice",
    {"type" => "enum", "name" => "E", "symbols" => ["a b"]} => "symbols of E are not a list of names",
    {"type" => "enum", "name" => "E", "symbols" => ["A"], "default" => "B"} => 'default "B" of E is none of its symbols',
    {"type" => "enum", "name" => "int", "symbols" => ["A"]} => "int is the name of a type of Avro's own",
    {"type" => "record", "name" => "R", "fields" => {}} => "fields of R are not a list",
    {"type" => "record", "name" => "R", "fields" => [{"name" => "a", "type" => "int"}] * 2} => "R has two fields a",
    {"type" => "record", "name" => "R", "fields" => [{"name" => "a-b", "type" => "int"}]} => "is not a valid name of a field",
    {"type" => "record", "name" => "R", "aliases" => 1, "fields" => []} => "aliases of R are not a list of Strings"
  }.freeze

  def test_what_is_no_schema
    REFUSED.each do |json, message|
      error = assert_raises(Guildhall::Avro::SchemaError, json.inspect) { parse(json) }
      assert_includes error.message, message
    end
    twice = record({"name" => "a", "type" => record}, {"name" => "b", "type" => "int"})
    assert_includes assert_raises(Guildhall::Avro::SchemaError) { parse(twice) }.message, "the name R is defined twice"
  end
end
