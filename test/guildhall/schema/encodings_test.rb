# frozen_string_literal: true

require "test_helper"
require "guildhall/schema"

# Strings of Hashes may have any encoding: all keywords see the text, in UTF-8.
class SchemaEncodingsTest < GuildhallTest
  TEXTS = %w[Zürich 2026-01-01 é].freeze
  ENCODINGS = %w[UTF-8 ISO-8859-1 UTF-16LE UTF-32BE IBM037].freeze

  def each_text(text)
    ENCODINGS.each { |encoding| yield text.encode(encoding), "#{text} in #{encoding}" }
    yield text.b, "#{text} as bytes"
  end

  def valid?(schema, value) = Guildhall::Schema.new(schema).validator.valid?(value)

  def test_lengths_are_counted_in_characters
    TEXTS.each do |text|
      each_text(text) do |one, place|
        assert valid?({"minLength" => text.size, "maxLength" => text.size}, one), place
        refute valid?({"minLength" => text.size + 1}, one), place
      end
    end
  end

  def test_formats_and_patterns
    each_text("2026-01-01") do |one, place|
      assert valid?({"format" => "date"}, one), place
      assert valid?({"pattern" => "^[0-9-]{10}$"}, one), place
    end
  end

  def test_equal_texts_are_equal
    each_text("é") do |one, place|
      assert valid?({"enum" => ["é"]}, one), place
      assert valid?({"const" => ["é"]}, [one]), place
      refute valid?({"uniqueItems" => true}, ["é", one]), place
      refute valid?({"uniqueItems" => true}, [{"a" => "é"}, {"a" => one}]), place
    end
  end

  def test_names_of_properties
    each_text("é") do |one, place|
      assert valid?({"required" => ["é"]}, {one => 1}), place
      refute valid?({"properties" => {"é" => {"type" => "string"}}}, {one => 1}), place
      assert valid?({"const" => {"é" => 1}}, {one => 1}), place
    end
  end

  # A Hash finds such a key only by a String of its encoding.
  def test_names_that_properties_need
    each_text("é") do |one, place|
      assert valid?({"dependentRequired" => {"a" => ["é"]}}, {"a" => 1, one => 2}), place
      refute valid?({"dependentSchemas" => {"é" => false}}, {one => 1}), place
      missing = Guildhall::Schema.new({"required" => %w[é b]}).validator.errors({one => 1}).map(&:message)
      assert_equal ['is missing required property "b"'], missing, place
    end
  end

  def test_keys_of_values_in_errors
    contract = Guildhall::Schema.contract { closed }
    schemas = [{"additionalProperties" => false}, {"patternProperties" => {"é" => false}}, {"propertyNames" => {"maxLength" => 0}},
               {"unevaluatedProperties" => false}].map { |schema| Guildhall::Schema.new(schema) }
    [contract, *schemas].each do |schema|
      each_text("é") do |one, place|
        error = schema.validator.error({one => 1})
        assert_equal ["/é", Encoding::UTF_8], [error.instance_location, error.instance_location.encoding], place
        assert_match(%r{\A/é }, error.to_s, place)
        assert_raises(Guildhall::ValidationError, place) { schema.validator.validate!({one => 1}) }
      end
    end
    ["日".encode("ISO-2022-JP"), "a".dup.force_encoding("UTF-7"), "\xFF", "\xFF".b, "\x00\xD8".dup.force_encoding("UTF-16LE")].each do |key|
      assert_match(/ is not allowed\z/, contract.validator.error({key => 1}).to_s, key.encoding.to_s)
    end
  end

  def test_a_schema_in_another_encoding
    ENCODINGS.each do |encoding|
      assert_equal SCHEMA_VERDICTS, verdicts(in_encoding(SCHEMA, encoding)), encoding
    end
    assert_equal SCHEMA_VERDICTS, verdicts(in_encoding(SCHEMA, "BINARY"))
  end

  SCHEMA = {
    "type" => "object", "required" => ["é"], "properties" => {"é" => {"$ref" => "#/$defs/ü"}}, "patternProperties" => {"^ß" => false},
    "$defs" => {"ü" => {"enum" => ["ä", ["ö"]]}}, "dependentRequired" => {"a" => ["ö"]}, "own" => "ö"
  }.freeze
  SCHEMA_VERDICTS = [
    nil, "the value is not of type object", 'the value is missing required property "é"', '/é is not one of "ä", ["ö"]', "/ß is not allowed",
    'the value is missing required property "ö"'
  ].freeze

  def in_encoding(value, encoding)
    case value
    when Hash then value.to_h { |key, member| [in_encoding(key, encoding), in_encoding(member, encoding)] }
    when Array then value.map { |element| in_encoding(element, encoding) }
    when String then encoding == "BINARY" ? value.b : value.encode(encoding)
    else value
    end
  end

  module Own
    def self.call(_value, operand) = operand == "ö"
  end

  def verdicts(schema)
    validator = Guildhall::Schema.new(schema, keywords: {"own" => Own}).validator
    [{"é" => "ä"}, 1, {}, {"é" => 1}, {"é" => ["ö"], "ß" => 1}, {"é" => "ä", "a" => 1}].map { |value| validator.error(value)&.to_s }
  end

  def test_a_contract_in_another_encoding
    ENCODINGS.each do |encoding|
      name, text = %w[é ä].map { |one| one.encode(encoding) }
      contract = Guildhall::Schema.contract do |object|
        object.required name, String, one_of: [text]
        object.rule "paßt nicht".encode(encoding), Unfit
      end
      assert_nil contract.validator.error({"é" => "ä"}), encoding
      assert_equal 'the value is missing required property "é"', contract.validator.error({}).to_s, encoding
      assert_equal "the value paßt nicht", contract.validator.error({"é" => "ä", "unfit" => 1}).to_s, encoding
      error = assert_raises(Guildhall::ArgumentError) { Guildhall::Schema.contract { |object| object.optional name, exactly: 1 } }
      assert_match(/\Aé: unknown option/, error.message, encoding)
    end
  end

  module Unfit
    def self.call(object) = !object.key?("unfit")
  end

  def test_what_is_no_text_in_a_schema
    ["\xFF", "\xFF".b, "\x00\xD8".dup.force_encoding("UTF-16LE"), "a".dup.force_encoding("UTF-7")].each do |text|
      {"#/allOf/1/title" => {"allOf" => [{}, {"title" => text}]}, "#/properties" => {"properties" => {text => true}},
       "#/required/0" => {"required" => [text]}, "#/a~1b/enum/0" => {"a/b" => {"enum" => [text]}}}.each do |location, schema|
        error = assert_raises(Guildhall::SchemaError) { Guildhall::Schema.new(schema) }
        assert_equal location, error.location
        assert_match(/\A#{location}: ".*" cannot be read as UTF-8\z/, error.message)
        error = assert_raises(Guildhall::SchemaError) { Guildhall::Schema.new({}, registry: {"urn:a" => schema}) }
        assert_equal "urn:a#{location}", error.location
      end
      assert_raises(Guildhall::SchemaError) { Guildhall::Schema.contract { |object| object.required text } }
      assert_raises(Guildhall::SchemaError) { Guildhall::Schema.new({}).validator(at: text) }
      [{uri: text}, {registry: {text => true}}, {formats: {text => Own}}, {keywords: {text => Own}}].each do |options|
        assert_match(/UTF-8/, assert_raises(Guildhall::ArgumentError) { Guildhall::Schema.new({}, **options) }.message)
      end
    end
  end

  def test_options_in_another_encoding
    ENCODINGS.each do |encoding|
      uri, other, name, part = ["urn:a", "urn:b#", "é", "#/$defs/é"].map { |text| text.encode(encoding) }
      schema = Guildhall::Schema.new({"$defs" => {"é" => {"$ref" => "urn:b"}}}, uri:, registry: {other => {"format" => "é"}}, formats: {name => Never})
      assert_equal ["urn:a", "the value is not a valid é"], [schema.options.uri, schema.validator(at: part).error("x").to_s], encoding
    end
  end

  module Never
    def self.call(_text) = false
  end
end
