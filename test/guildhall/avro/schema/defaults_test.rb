# frozen_string_literal: true

require "test_helper"
require "guildhall/avro"

class AvroSchemaDefaultsTest < GuildhallTest
  Defaults = Guildhall::Avro::Schema::Defaults

  def type(json) = Guildhall::Avro::Schema::Parser.new.parse(json)

  RECORD = {"type" => "record", "name" => "R", "fields" => [{"name" => "a", "type" => "int"}, {"name" => "b", "type" => "string", "default" => "x"}]}.freeze
  FITS = {
    "int" => [[0, (2**31) - 1], [2**31, 1.0, "1", nil]], "long" => [[2**62], [2**63]], "double" => [[1, 1.5], ["1"]], "null" => [[nil], [0]],
    "boolean" => [[true, false], [nil, 0]], "bytes" => [["\u00FF"], ["\u0100", 1]], "string" => [["ü"], [1]],
    {"type" => "fixed", "name" => "F", "size" => 2} => [["ab"], %w[a abc]], {"type" => "array", "items" => "int"} => [[[], [1]], [["a"], 1]],
    {"type" => "map", "values" => "int"} => [[{}, {"a" => 1}], [{"a" => "b"}, []]],
    {"type" => "enum", "name" => "E", "symbols" => ["A"]} => [["A"], ["B"]], RECORD => [[{"a" => 1}, {"a" => 1, "b" => "y"}], [{}, {"b" => "y"}]],
    %w[null int] => [[nil, 1], ["a"]]
  }.freeze

  def test_what_fits_a_type
    FITS.each do |json, (right, wrong)|
      type = type(json)
      right.each { |value| assert Defaults.fits?(type, value), "#{value.inspect} is a #{type}" }
      wrong.each { |value| refute Defaults.fits?(type, value), "#{value.inspect} is no #{type}" }
    end
  end

  def test_a_wrong_default_is_refused_wherever_it_is
    inner = {"type" => "record", "name" => "I", "fields" => [{"name" => "x", "type" => "int", "default" => "one"}]}
    outer = {"type" => "record", "name" => "O", "fields" => [{"name" => "list", "type" => {"type" => "array", "items" => inner}}]}
    error = assert_raises(Guildhall::Avro::SchemaError) { Defaults.check(type(outer)) }
    assert_includes error.message, 'default "one" of'
    assert_includes error.message, ".x is not a valid"
  end

  def test_values_of_defaults
    reader = {"type" => "record", "name" => "R", "fields" => [
      {"name" => "f", "type" => "double", "default" => 1}, {"name" => "b", "type" => "bytes", "default" => "\u00FF"},
      {"name" => "r", "type" => RECORD.merge("name" => "S"), "default" => {"a" => 1}}, {"name" => "u", "type" => %w[null int], "default" => nil}
    ]}
    codec = Guildhall::Avro.new({"type" => "record", "name" => "R", "fields" => []}, reader:)
    assert_equal({"f" => 1.0, "b" => "\xFF".b, "r" => {"a" => 1, "b" => "x"}, "u" => nil}, codec.decode(""))
  end
end
