# frozen_string_literal: true

require "test_helper"
require "support/avro_gem"
require "guildhall/avro"
require "bigdecimal"

class AvroSingleObjectTest < GuildhallTest
  OLD = {type: "record", name: "R", fields: [{name: "a", type: "int"}]}.freeze
  NEW = {type: "record", name: "R", fields: [{name: "a", type: "long"}, {name: "b", type: "string", default: "x"}]}.freeze
  CODEC = Guildhall::Avro::SingleObject.new([NEW, OLD], reader: NEW)

  def test_begins_as_the_gems
    header = AvroGem.parse(NEW).single_object_encoding_header.pack("C*")
    assert_equal header + "\x0a\x02y".b, CODEC.encode({"a" => 5, "b" => "y"})
    assert_equal({"a" => 5, "b" => "y"}, CODEC.decode(CODEC.encode({"a" => 5, "b" => "y"})))
  end

  def test_reads_older_payloads
    old = Guildhall::Avro::SingleObject.new([OLD]).encode({"a" => 5})
    assert_equal({"a" => 5, "b" => "x"}, CODEC.decode(old))
    assert_equal({"a" => 5, "b" => "x"}, ractor_value(Ractor.new(CODEC, old) { |codec, bytes| codec.decode(bytes) }))
  end

  def test_unknown_schemas
    error = assert_raises(Guildhall::Avro::UnknownSchemaError) { CODEC.decode("\xC3\x01".b + ("\0" * 8) + "x") }
    assert_equal 0, error.id
    ["", "\xC3\x01\0".b, "\xC3\x02#{"\0" * 8}".b].each { |bytes| assert_raises(Guildhall::DecodeError) { CODEC.decode(bytes) } }
    assert_raises(Guildhall::ArgumentError) { Guildhall::Avro::SingleObject.new([]) }
  end

  # A fingerprint is of the canonical form, which has no logical types.
  def test_schemas_that_a_payload_cannot_tell_apart
    {["bytes", "decimal", {precision: 9, scale: 2}] => ["bytes", "decimal", {precision: 9, scale: 4}],
     ["int", "date", {}] => ["int", nil, {}], ["long", "timestamp-millis", {}] => ["long", "timestamp-micros", {}]}.each do |one, other|
      schemas = [one, other].map { |base, logical, rest| within_record({type: base, logicalType: logical, **rest}.compact) }
      [schemas, [NEW, *schemas.reverse]].each do |given|
        error = assert_raises(Guildhall::ArgumentError) { Guildhall::Avro::SingleObject.new(given) }
        assert_match(/two schemas of R have one fingerprint .* differ in logical types/, error.message)
      end
      assert Guildhall::Avro::SingleObject.new(schemas, logical_types: false)
    end
  end

  def test_schemas_of_one_fingerprint_that_are_read_alike
    decimal = {type: "bytes", logicalType: "decimal", precision: 9, scale: 2}
    codec = Guildhall::Avro::SingleObject.new([decimal, decimal.merge(precision: 12), decimal.merge(doc: "money")].map { within_record(it) })
    assert_equal({"a" => {"amount" => BigDecimal("1.25")}}, codec.decode(codec.encode({"a" => {"amount" => BigDecimal("1.25")}})))
    assert Guildhall::Avro::SingleObject.new([within_record({type: "int", logicalType: "unknown"}), within_record("int")])
  end

  def test_what_it_is_not_made_of
    [[], nil, "int"].each { |schemas| assert_raises(Guildhall::ArgumentError) { Guildhall::Avro::SingleObject.new(schemas) } }
    assert_raises(TypeError) { Guildhall::Avro::SingleObject.new(["int"]).decode(nil) }
  end

  private

  def within_record(type)
    {type: "record", name: "R", fields: [{name: "a", type: {type: "record", name: "Inner", fields: [{name: "amount", type:}]}}]}
  end
end
