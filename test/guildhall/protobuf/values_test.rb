# frozen_string_literal: true

require "test_helper"
require "guildhall/protobuf"
require "support/protobuf_files"

# What decode and encode change; docs/registry.md has what surprises of it.
class ProtobufValuesTest < GuildhallTest
  FIELDS = [["int64", 1, :TYPE_INT64], ["uint64", 2, :TYPE_UINT64], ["float", 3, :TYPE_FLOAT], ["double", 4, :TYPE_DOUBLE], ["string", 5, :TYPE_STRING],
            ["bytes", 6, :TYPE_BYTES], ["kind", 7, :TYPE_ENUM, false, ".Kind"], ["list", 8, :TYPE_INT32, true], ["flag", 9, :TYPE_BOOL], ["optional", 10, :TYPE_INT32],
            ["one", 11, :TYPE_INT32], ["other", 12, :TYPE_STRING], ["map", 13, ".M.MapEntry", true], ["at", 14, ".google.protobuf.Timestamp"],
            ["wrapped", 15, ".google.protobuf.Int64Value"], ["any", 16, ".google.protobuf.Any"], ["kinds", 17, :TYPE_ENUM, true, ".Kind"],
            ["numbers", 18, ".M.NumbersEntry", true], ["duration", 19, ".google.protobuf.Duration"]].freeze
  IMPORTS = %w[timestamp wrappers any duration].map { |name| "google/protobuf/#{name}.proto" }.freeze

  def setup
    kind = Google::Protobuf::EnumDescriptorProto.new(name: "Kind", value: [{name: "OPEN", number: 0}, {name: "PAID", number: 1}])
    message = ProtobufFiles.message("M", FIELDS)
    message.oneof_decl.push(*%w[choice _optional].map { |name| Google::Protobuf::OneofDescriptorProto.new(name:) })
    message.field.each { |field| choose(field) }
    message.nested_type.push(entry("MapEntry", :TYPE_STRING, :TYPE_INT32), entry("NumbersEntry", :TYPE_INT64, :TYPE_STRING))
    @codec = codec(ProtobufFiles.file(name: "m.proto", dependency: IMPORTS, message_type: [message], enum_type: [kind]))
  end

  def test_integers
    assert_equal [(2**63) - 1, (2**64) - 1], both({"int64" => (2**63) - 1, "uint64" => (2**64) - 1}).values_at("int64", "uint64")
    assert_equal 5, both({"int64" => 5.0})["int64"]
    [2**63, "5", 5.5].each { |value| assert_raises(Guildhall::EncodeError) { @codec.encode({"int64" => value}) } }
  end

  def test_floats
    assert_equal [[0.1].pack("e").unpack1("e"), 0.1, 1.0], [both({"float" => 0.1})["float"], both({"double" => 0.1})["double"], both({"double" => 1})["double"]]
    assert_predicate both({"float" => Float::NAN})["float"], :nan?
    assert_equal "-0.0", both({"double" => -0.0})["double"].to_s
    assert_equal(-Float::INFINITY, both({"double" => -Float::INFINITY})["double"])
  end

  def test_strings_and_bytes
    assert_equal ["é", Encoding::UTF_8], both({"string" => "é".encode("ISO-8859-1")})["string"].then { [it, it.encoding] }
    assert_equal "abc", both({"string" => :abc})["string"]
    assert_raises(Guildhall::DecodeError) { @codec.decode("\x2a\x01\xff".b) }
    assert_equal ["\xFF".b, Encoding::BINARY], both({"bytes" => "\xFF".b})["bytes"].then { [it, it.encoding] }
    assert_raises(Guildhall::EncodeError) { @codec.encode({"bytes" => "é"}) }
  end

  def test_enums
    assert_equal [:PAID, :PAID, :PAID, 7], [:PAID, "PAID", 1, 7].map { |value| both({"kind" => value})["kind"] }
    assert_equal [:OPEN, 7], both({"kinds" => [0, 7]})["kinds"]
    assert_raises(Guildhall::EncodeError) { @codec.encode({"kind" => :NOPE}) }
  end

  def test_fields_that_are_not_set
    empty = {"int64" => 0, "uint64" => 0, "float" => 0.0, "double" => 0.0, "string" => "", "bytes" => "".b, "kind" => :OPEN, "list" => [], "flag" => false,
             "map" => {}, "kinds" => [], "numbers" => {}}
    assert_equal empty, @codec.decode("")
    assert_equal FIELDS.map(&:first) & empty.keys, @codec.decode("").keys
    assert_empty @codec.encode(empty), "a default is not written"
    assert_equal 0, both({"optional" => 0})["optional"]
    %w[int64 string list flag optional at].each { |name| assert_equal empty, both({name => nil}), name }
  end

  def test_oneofs
    assert_equal({"other" => ""}, both({"other" => ""}).slice("one", "other"))
    assert_equal({"other" => "x"}, both({"one" => 1, "other" => "x"}).slice("one", "other"), "the last counts")
  end

  def test_lists_and_maps
    assert_raises(Guildhall::EncodeError) { @codec.encode({"list" => [1, nil]}) }
    assert_raises(Guildhall::EncodeError) { @codec.encode({"map" => {"a" => nil}}) }
    assert_equal({"z" => 1, "a" => 2, "m" => 3}, both({"map" => {"z" => 1, "a" => 2, "m" => 3}})["map"])
    assert_equal({5 => "x"}, both({"numbers" => {5 => "x"}})["numbers"])
    assert_raises(Guildhall::EncodeError) { @codec.encode({"numbers" => {"5" => "x"}}) }
    assert_equal({"a" => 2}, @codec.decode("\x6a\x05\x0a\x01a\x10\x01\x6a\x05\x0a\x01a\x10\x02".b)["map"])
  end

  def test_fields_that_the_schema_does_not_have
    decoded = @codec.decode("\xfa\x06\x01a\x08\x05".b)
    assert_equal [5, "\x08\x05".b], [decoded["int64"], @codec.encode(decoded)]
    assert_raises(Guildhall::EncodeError) { @codec.encode({"nope" => 1}) }
  end

  def test_well_known_types
    assert_equal [{"seconds" => 7, "nanos" => 5}] * 2, [Time.at(7, 5, :nsec), {"seconds" => 7, "nanos" => 5}].map { |value| both({"at" => value})["at"] }
    assert_equal({"seconds" => 1, "nanos" => 500_000_000}, both({"duration" => 1.5})["duration"])
    assert_equal({"value" => 5}, both({"wrapped" => {"value" => 5}})["wrapped"])
    assert_raises(Guildhall::EncodeError) { @codec.encode({"wrapped" => 5}) }
    assert_equal({"type_url" => "t/x", "value" => "ab".b}, both({"any" => {"type_url" => "t/x", "value" => "ab"}})["any"])
  end

  def test_defaults_and_required_fields_of_proto2
    message = ProtobufFiles.message("M", [["id", 1, :TYPE_INT32], ["name", 2, :TYPE_STRING]])
    message.field[0].label = :LABEL_REQUIRED
    message.field[1].default_value = "x"
    old = codec(ProtobufFiles.file(name: "m.proto", message_type: [message]).tap { |file| file.syntax = "proto2" })
    assert_equal({}, old.decode(""))
    assert_equal "", old.encode({})
    assert_equal({"id" => 0, "name" => "x"}, old.decode(old.encode({"id" => 0, "name" => "x"})), "a default that is set is written")
  end

  private

  def codec(file) = Guildhall::Protobuf.new(ProtobufFiles.set_of(file), message: "M")

  def both(object) = @codec.decode(@codec.encode(object))

  def choose(field)
    field.oneof_index = 0 if %w[one other].include?(field.name)
    return unless field.name == "optional"

    field.oneof_index = 1
    field.proto3_optional = true
  end

  def entry(name, key, value)
    ProtobufFiles.message(name, [["key", 1, key], ["value", 2, value]]).tap { |made| made.options = Google::Protobuf::MessageOptions.new(map_entry: true) }
  end
end
