# frozen_string_literal: true

require "test_helper"
require "guildhall/avro"

class AvroSchemaCanonicalFormTest < GuildhallTest
  Form = Guildhall::Avro::Schema::CanonicalForm

  def of(json) = Form.of(Guildhall::Avro::Schema::Parser.new.parse(json))

  def test_only_what_matters_in_a_fixed_order
    json = {"doc" => "x", "fields" => [{"default" => 1, "type" => {"type" => "int"}, "name" => "a", "doc" => "y"}], "name" => "R",
            "aliases" => ["Q"], "namespace" => "n", "type" => "record"}
    assert_equal '{"name":"n.R","type":"record","fields":[{"name":"a","type":"int"}]}', of(json)
  end

  def test_a_name_that_comes_again_is_the_name_alone
    json = {"type" => "record", "name" => "R", "fields" => [{"name" => "next", "type" => %w[null R]}]}
    assert_equal '{"name":"R","type":"record","fields":[{"name":"next","type":["null","R"]}]}', of(json)
  end

  def test_kinds
    assert_equal '{"type":"array","items":"long"}', of({"type" => "array", "items" => "long"})
    assert_equal '{"type":"map","values":["null","string"]}', of({"type" => "map", "values" => %w[null string]})
    assert_equal '{"name":"F","type":"fixed","size":3}', of({"type" => "fixed", "size" => 3, "name" => "F", "logicalType" => "x"})
    assert_equal '{"name":"E","type":"enum","symbols":["A","B"]}', of({"type" => "enum", "symbols" => %w[A B], "name" => "E"})
  end

  # From the specification's own test cases.
  def test_fingerprints
    {'"null"' => 7_195_948_357_588_979_594, '"int"' => 8_247_732_601_305_521_295, '"string"' => -8_142_146_995_180_207_161}.each do |form, number|
      assert_equal number, [Form.fingerprint(form)].pack("Q").unpack1("q"), form
    end
  end
end
