# frozen_string_literal: true

require "test_helper"
require "support/avro_gem"
require "guildhall/avro"

class AvroSchemaTest < GuildhallTest
  Schema = Guildhall::Avro::Schema
  FLAT = {"type" => "record", "name" => "a.b.R", "doc" => "text", "fields" => [
    {"name" => "x", "type" => {"type" => "long"}, "default" => 5},
    {"name" => "e", "type" => {"type" => "enum", "name" => "E", "symbols" => %w[A B]}},
    {"name" => "f", "type" => {"type" => "fixed", "name" => "c.F", "size" => 4}},
    {"name" => "u", "type" => ["null", {"type" => "map", "values" => "bytes"}]}
  ]}.freeze

  # What File.read gives where no LANG is set.
  def test_schema_text_is_utf8_whatever_its_encoding_says
    text = '{"type": "fixed", "name": "F", "size": 2, "doc": "größe"}'
    [Encoding::US_ASCII, Encoding::BINARY].each do |encoding|
      assert_equal Schema.parse(text), Schema.parse(text.dup.force_encoding(encoding))
    end
    %w[ISO-8859-1 UTF-16LE].each { |encoding| assert_equal Schema.parse(text), Schema.parse(text.encode(encoding)) }
    error = assert_raises(Guildhall::Avro::SchemaError) { Schema.parse(text.encode("ISO-8859-1").force_encoding("UTF-8")) }
    assert_includes error.message, "not valid UTF-8"
  end

  def test_data_that_is_no_json
    [Float::NAN, Float::INFINITY, {"type" => "int", "doc" => Float::NAN}].each { |data| assert_raises(Guildhall::Avro::SchemaError) { Schema.parse(data) } }
  end

  # Recursion in Ruby: also in a thread and a Ractor, whose stacks are small.
  def test_deep_schemas
    deep = (1..330).reduce("int") { |inner, i| {"type" => "record", "name" => "R#{i}", "fields" => [{"name" => "f", "type" => inner}]} }
    read = ->(schema) { Guildhall::Avro.new(schema, reader: schema).schema.fingerprint }
    expected = read.call(deep)
    assert_equal expected, Thread.new { read.call(JSON.generate(deep, max_nesting: false)) }.value
    assert_equal expected, ractor_value(Ractor.new(Ractor.make_shareable(deep)) { |schema| Guildhall::Avro.new(schema, reader: schema).schema.fingerprint })
    deeper = (1..20).reduce(deep) { |inner, _| {"type" => "array", "items" => inner} }
    [deeper, JSON.generate(deeper, max_nesting: false)].each do |schema|
      assert_match(/nesting of 1001 is too deep/, assert_raises(Guildhall::Avro::SchemaError) { Schema.parse(schema) }.message)
    end
  end

  def test_canonical_form_does_not_depend_on_active_support
    schema = '{"type":"enum","name":"E","namespace":"a&b","symbols":["X"]}'
    script = <<~RUBY
      require "active_support/all"
      require "guildhall/avro"
      Warning[:experimental] = false
      ractor = Ractor.new { Guildhall::Avro::SingleObject.new(['#{schema}'], strict_schemas: false).encode("X") }
      print (ractor.respond_to?(:value) ? ractor.value : ractor.take).unpack1("H*")
    RUBY
    assert_equal Guildhall::Avro::SingleObject.new([schema], strict_schemas: false).encode("X").unpack1("H*"), assert_ruby(script, options: ["-W0"])
  end

  def test_canonical_form_and_fingerprint_are_the_specifications
    theirs = AvroGem.parse(FLAT)
    assert_equal Avro::SchemaNormalization.to_parsing_form(theirs), Schema.parse(FLAT).canonical_form
    assert_equal theirs.crc_64_avro_fingerprint, Schema.parse(FLAT).fingerprint
    assert_equal theirs.single_object_encoding_header.pack("C*"), Schema.parse(FLAT).single_object_header
    assert_equal 0x63dd24e7cc258f8a, Schema.parse("null").fingerprint # the specification's own vector
  end

  def test_named_types_are_referred_to_by_their_full_names
    schema = {type: "record", name: "n.R", fields: [{name: "r", type: %w[null R]}]}
    assert_equal %({"name":"n.R","type":"record","fields":[{"name":"r","type":["null","n.R"]}]}), Schema.parse(schema).canonical_form
  end

  def test_namespaces
    schema = {type: "record", name: "R", namespace: "one", fields: [
      {name: "a", type: {type: "fixed", name: "F", size: 1}},
      {name: "b", type: {type: "record", name: "two.S", fields: [{name: "g", type: {type: "fixed", name: "G", size: 1}}]}},
      {name: "c", type: "two.G"}, {name: "d", type: "one.F"}, {name: "e", type: "F"}
    ]}
    assert_equal(%w[one.F two.S two.G one.F one.F], Schema.parse(schema).root.fields.map { |field| field.type.name })
  end

  def test_schemas_refer_to_others
    part = Schema.parse({type: "record", name: "shop.Part", fields: [{name: "n", type: "int"}]})
    codec = Guildhall::Avro.new({type: "array", items: "shop.Part"}, references: [part])
    assert_equal [{"n" => 1}], codec.decode(codec.encode([{"n" => 1}]))
  end

  def test_what_is_no_schema
    ["nope", "{", "[]]", {}, {type: "nope"}, 5, {type: "array"}, {type: "record", name: "1", fields: []}, {type: "record", name: "R"},
     {type: "enum", name: "E", symbols: %w[A A]}, {type: "enum", name: "E", symbols: ["a-b"]},
     {type: "enum", name: "E", symbols: ["A"], default: "B"},
     {type: "fixed", name: "F", size: -1}, %w[int int], [["int"]], {type: "record", name: "int", fields: []},
     {type: "record", name: "R", fields: [{name: "a", type: "int"}, {name: "a", type: "int"}]},
     {type: "record", name: "R", fields: [{name: "a", type: "int", default: "x"}]},
     {type: "record", name: "R", fields: [{name: "a", type: %w[null int], default: "x"}]}].each do |source|
      assert_raises(Guildhall::Avro::SchemaError, source.inspect) { Schema.parse(source) }
    end
  end

  def test_is_frozen_and_shareable
    schema = Schema.parse(FLAT)
    assert Ractor.shareable?(schema)
    assert_equal schema, Schema.parse(schema.json)
    assert_same schema, Schema.parse(schema)
  end

  def test_a_default_that_contains_itself
    reader = {type: "record", name: "R", fields: [{name: "a", type: "R", default: {}}]}
    error = assert_raises(Guildhall::SchemaError) { Guildhall::Avro.new({type: "record", name: "R", fields: []}, reader:) }
    assert_match(/default of a contains itself/, error.message)
    twice = {type: "record", name: "P", fields: [{name: "x", type: "int", default: 1}]}
    reader = {type: "record", name: "R", fields: [{name: "a", type: {type: "array", items: twice}, default: [{}, {}]}]}
    assert_equal({"a" => [{"x" => 1}] * 2}, Guildhall::Avro.new({type: "record", name: "R", fields: []}, reader:).decode(""))
  end

  def test_a_namespace_and_references_of_another_kind
    assert_raises(Guildhall::SchemaError) { Guildhall::Avro::Schema.parse({type: "fixed", name: "F", namespace: 5, size: 1}) }
    [5, ["int"]].each { |references| assert_raises(Guildhall::ArgumentError) { Guildhall::Avro::Schema.parse("int", references:) } }
  end
end
