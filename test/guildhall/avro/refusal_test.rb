# frozen_string_literal: true

require "test_helper"
require "bigdecimal"
require "guildhall/avro"

# What `encode` refuses, because the codec would not read it, and what the errors say.
class AvroRefusalTest < GuildhallTest
  MAP = {type: "map", values: "int"}.freeze
  RECORD = {type: "record", name: "R", fields: [{name: "a", type: %w[null int]}]}.freeze

  def test_what_the_codec_would_not_read
    {["string", {max_bytes: 10}] => "a" * 100, [{type: "array", items: "null"}, {}] => [nil] * 65_537,
     ["string", {allow_invalid_utf8: false}] => "\xff", [MAP, {allow_invalid_utf8: false}] => {"\xff" => 1}}.each do |(schema, options), object|
      assert_raises(Guildhall::EncodeError, schema.to_s) { Guildhall::Avro.new(schema, **options).encode(object) }
    end
    empty = Guildhall::Avro.new({type: "array", items: "null"})
    assert_equal [nil] * 65_536, empty.decode(empty.encode([nil] * 65_536))
    assert_equal "\xff".b, Guildhall::Avro.new("string").encode("\xff").byteslice(1..)
  end

  def test_keys_that_are_one_text
    [{"a" => 1, a: 2}, {"é" => 1, "é".encode("ISO-8859-1") => 2}, {"é" => 1, "é".dup.force_encoding("US-ASCII") => 2}].each do |hash|
      assert_match(/two keys of a map are the same text/, refusal(MAP, hash))
    end
    assert_equal({"a" => 1, "b" => 2}, Guildhall::Avro.new(MAP).then { it.decode(it.encode({"a" => 1, b: 2})) })
  end

  def test_a_record_that_compares_by_identity
    assert_match(/compares by identity/, refusal(RECORD, {}.compare_by_identity.tap { |hash| hash[+"a"] = 1 }))
  end

  def test_what_errors_say
    decimal = {type: "bytes", logicalType: "decimal", precision: 4, scale: 2}
    {["int", 2**40] => "$: int within 32 bits expected, got Integer", ["long", 2**80] => "$: long within 64 bits expected, got Integer",
     [decimal, BigDecimal("123.45")] => "$: decimal of precision 4 and scale 2 expected, got BigDecimal",
     [{type: "long", logicalType: "timestamp-nanos"}, Time.utc(2400)] => "$: timestamp within 64 bits expected, got Time",
     [MAP, {1 => 2}] => "$: String or Symbol as a map's key expected, got Integer",
     [[RECORD, "null"], Guildhall::Avro::Branch.new("Nope", {})] => "$: Branch named R or null expected, got Guildhall::Avro::Branch"}.each do |(schema, object), message|
      assert_equal "Avro: #{message}", refusal(schema, object)
    end
    assert_match(/a union without branches/, assert_raises(Guildhall::SchemaError) { Guildhall::Avro.new([]) }.message)
    thrice = {type: "record", name: "R", fields: [{name: "a", type: "int"}] * 3}
    assert_match(/R has two fields a\z/, assert_raises(Guildhall::SchemaError) { Guildhall::Avro.new(thrice) }.message)
  end

  private

  def refusal(schema, object) = assert_raises(Guildhall::EncodeError) { Guildhall::Avro.new(schema).encode(object) }.message
end
