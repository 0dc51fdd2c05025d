# frozen_string_literal: true

require "test_helper"
require "bigdecimal"
require "date"
require "json"
require "oj"
require "yaml"
require "guildhall"
require "guildhall/csv"
require "guildhall/yaml"

# Every encoder takes every Document, wherever it stands, and writes what it would write for the Hash or Array.
class DocumentEncodingTest < GuildhallTest
  ROWS = [{"id" => 1, "name" => "Ada", "tags" => %w[a b]}, {"id" => 2, "name" => "é", "tags" => []}].freeze
  SCHEMA = {"type" => "array", "items" => {"type" => "record", "name" => "Row", "fields" => [
    {"name" => "id", "type" => %w[null long]}, {"name" => "name", "type" => "string"}, {"name" => "tags", "type" => {"type" => "array", "items" => "string"}}
  ]}}.freeze
  AVRO = Guildhall::Avro.new(SCHEMA)
  READERS = {
    json: Guildhall::JSON.document(Guildhall::JSON.encode(ROWS)), lenient: Guildhall::JSON.new(allow_trailing_comma: true).document(Guildhall::JSON.encode(ROWS)),
    duplicates: Guildhall::JSON.new(allow_duplicate_key: true).document(Guildhall::JSON.encode(ROWS).sub("{", '{"id":0,')), msgpack: Guildhall::MessagePack.document(Guildhall::MessagePack.encode(ROWS)),
    avro: AVRO.document(AVRO.encode(ROWS)), single: Guildhall::Avro::SingleObject.new([SCHEMA]).then { |codec| codec.document(codec.encode(ROWS)) }
  }.freeze
  ENCODERS = {
    json: Guildhall::JSON, json_options: Guildhall::JSON.new(symbolize_names: true), lazy: Guildhall::JSON.lazy, msgpack: Guildhall::MessagePack, avro: AVRO, avro_lazy: AVRO.lazy,
    single: Guildhall::Avro::SingleObject.new([SCHEMA]), csv: Guildhall::CSV, yaml: Guildhall::YAML, yaml_aliases: Guildhall::YAML.new(aliases: true)
  }.freeze

  def test_all_encoders_take_all_documents
    each_pair { |name, encoder, document| assert_equal encoder.encode(ROWS), encoder.encode(document), name }
  end

  def test_all_encoders_take_them_inside_arrays
    each_pair { |name, encoder, document| assert_equal encoder.encode(ROWS), encoder.encode(document.to_a.each_index.map { |i| document[i] }), name }
  end

  def test_all_encoders_take_them_inside_hashes
    each_pair do |name, encoder, document|
      hashes = document.map { |row| row.each_with_object({}) { |(key, value), hash| hash[key] = value } }
      assert_equal encoder.encode(ROWS), encoder.encode(hashes), name
    end
  end

  def test_in_pipelines_and_ractors
    document = READERS.fetch(:avro)
    ENCODERS.except(:single).each do |name, encoder|
      if Ractor.respond_to?(:shareable_proc)
        assert_equal encoder.encode(ROWS), (Guildhall.map(&:itself) >> Guildhall.encode(encoder)).call(document), name
      end
      assert_equal encoder.encode(ROWS), ractor_value(Ractor.new(encoder, document) { |codec, rows| codec.encode(rows) }), name
    end
  end

  def test_others_write_them_too
    READERS.each do |name, document|
      assert_equal ROWS, JSON.parse(JSON.generate(document)), name
      assert_equal ROWS, JSON.parse(JSON.generate({"q" => document}))["q"], name
      assert_equal JSON.pretty_generate({"q" => [ROWS]}), JSON.pretty_generate({"q" => [document]}), name
      assert_equal ROWS, JSON.parse(document.to_json), name
      assert_equal ROWS, JSON.parse(Oj.dump(document, mode: :rails)), name
      assert_equal ROWS, document.as_json, name
      assert_equal YAML.dump(ROWS), YAML.dump(document), name
      assert_equal ROWS, YAML.load(YAML.dump({"q" => [document, document]}), aliases: true)["q"].last, name
      assert_equal ROWS, Marshal.load(Marshal.dump(document)), name
    end
  end

  def test_repeated_parts_are_no_aliases
    document = Guildhall::JSON.document('{"a":[],"b":[],"c":[[1],[1]]}')
    assert_equal document.decode, YAML.load(YAML.dump(document), aliases: false)
  end

  LENIENT = {
    {allow_nan: true} => "[NaN]", {allow_trailing_comma: true} => "[1,]", {allow_invalid_utf8: true} => "[\"\xFF\"]", {allow_control_characters: true} => "[\"\n\"]"
  }.freeze

  # What a strict codec writes, a strict codec reads.
  def test_lenient_bytes_are_never_copied
    LENIENT.each do |options, text|
      document = Guildhall::JSON.new(**options).document(text)
      [-> { Guildhall::JSON.encode(document) }, -> { Guildhall::JSON.encode({"x" => document}) }, -> { document.to_json }, -> { JSON.generate(document) }].each do |write|
        written = write.call
        assert Guildhall::JSON.decode(written), options
        refute_equal text, written, options
      rescue Guildhall::EncodeError, JSON::GeneratorError
        assert_includes %i[allow_nan allow_invalid_utf8], options.keys.first
      end
    end
    assert_equal "[NaN]", Guildhall::JSON.new(allow_nan: true).encode(Guildhall::JSON.new(allow_nan: true).document("[NaN]"))
  end

  def test_logical_types_and_binary_parts
    codec = Guildhall::Avro.new({"type" => "record", "name" => "R", "fields" => [
      {"name" => "d", "type" => {"type" => "bytes", "logicalType" => "decimal", "precision" => 9, "scale" => 2}}, {"name" => "t", "type" => {"type" => "long", "logicalType" => "timestamp-millis"}}
    ]})
    document = codec.document(codec.encode({"d" => BigDecimal("12.34"), "t" => Time.at(0).utc}))
    decimal, time = %w[d t].map { |field| Guildhall::JSON.encode(document[field]) } # otherwise where ActiveSupport is loaded
    assert_equal %({"d":#{decimal},"t":#{time}}), Guildhall::JSON.encode(document)
    assert_equal %({"d":12.34,"t":#{time}}), Guildhall::JSON.new(decimal_class: BigDecimal).encode(document)
    binary = Guildhall::MessagePack.document(Guildhall::MessagePack.encode(["\xFF".b]))
    assert_raises(Guildhall::EncodeError) { Guildhall::JSON.encode(binary) }
  end

  def test_what_says_nothing
    silent = Class.new { def to_json(*) = nil }
    assert_raises(Guildhall::JSON::EncodeError) { Guildhall::JSON.encode([silent.new]) }
  end

  private

  def each_pair
    READERS.each { |from, document| ENCODERS.each { |to, encoder| yield "#{from} by #{to}", encoder, document } }
  end
end
