# frozen_string_literal: true

require "test_helper"
require "date"
require "guildhall/yaml"

class YAMLTest < GuildhallTest
  TEXT = "id: 1\nname: Ada\nroles: [admin, {level: 2.5}]\nnone: ~\nyes: true\n"
  VALUE = {"id" => 1, "name" => "Ada", "roles" => ["admin", {"level" => 2.5}], "none" => nil, true => true}.freeze

  def test_frozen
    value = Guildhall::YAML.decode(TEXT)
    assert_equal VALUE, value
    assert Ractor.shareable?(value)
    assert_nil Guildhall::YAML.decode("")
    assert_equal({id: 1}, Guildhall::YAML.new(symbolize_names: true).decode("id: 1"))
  end

  def test_plain_data_only
    ["--- !ruby/object:Object {}", "a: 2024-01-01", "a: :symbol", "a: &x [1]\nb: *x"].each do |text|
      error = assert_raises(Guildhall::DecodeError, text) { Guildhall::YAML.decode(text) }
      assert_equal "YAML", error.codec
    end
  end

  def test_more_by_option
    codec = Guildhall::YAML.new(permitted_classes: [Date, Symbol], permitted_symbols: [:a], aliases: true)
    value = codec.decode("d: 2024-02-29\ns: :a\nx: &x [1]\ny: *x\n")
    assert_equal({"d" => Date.new(2024, 2, 29), "s" => :a, "x" => [1], "y" => [1]}, value)
    assert Ractor.shareable?(value)
    assert_raises(Guildhall::DecodeError) { codec.decode(":b") }
  end

  def test_says_where
    error = assert_raises(Guildhall::DecodeError) { Guildhall::YAML.decode("a: 1\nb: [1\n") }
    assert_equal "YAML", error.codec
    assert_operator error.line, :>, 1
    assert_raises(Guildhall::DecodeError) { Guildhall::YAML.decode("a: \xff".b) }
  end

  def test_encodes
    text = Guildhall::YAML.encode(VALUE)
    assert_predicate text, :frozen?
    assert_equal VALUE, Guildhall::YAML.decode(text)
  end

  def test_options_are_checked
    assert_raises(Guildhall::ArgumentError) { Guildhall::YAML.new(permitted_classes: ["Date"]) }
  end

  def test_in_ractors
    codec = Guildhall::YAML.new(permitted_classes: [Date])
    results = Array.new(3) { Ractor.new(codec, TEXT) { |yaml, text| [yaml.decode(text), Guildhall::YAML.decode("a: 1"), yaml.decode("2024-01-01").year, yaml.encode([1])] } }
    results.each { |ractor| assert_equal [VALUE, {"a" => 1}, 2024, "---\n- 1\n"], ractor_value(ractor) }
  end

  def test_a_fault_in_a_ractor
    message = ractor_value(Ractor.new do
      Guildhall::YAML.decode("a: [1")
    rescue StandardError
      $!.message
    end)
    assert_includes message, "YAML"
  end
end
