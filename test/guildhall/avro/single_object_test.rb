# frozen_string_literal: true

require "test_helper"
require "support/avro_gem"
require "guildhall/avro"

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

  def test_what_it_is_not_made_of
    [[], nil, "int"].each { |schemas| assert_raises(Guildhall::ArgumentError) { Guildhall::Avro::SingleObject.new(schemas) } }
    assert_raises(TypeError) { Guildhall::Avro::SingleObject.new(["int"]).decode(nil) }
  end
end
