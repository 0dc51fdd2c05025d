# frozen_string_literal: true

require "test_helper"
require "stringio"
require "support/registry_server"
require "guildhall/avro"
require "guildhall/pool"

# Schemas that a registry or a file has are read; those that the application gives are checked.
class AvroStrictnessTest < GuildhallTest
  Schema = Guildhall::Avro::Schema

  def self.record(*fields, **rest) = {"type" => "record", "name" => "R", "fields" => fields, **rest}

  # Each: a schema that is not valid in a way that reading does not depend on, a payload, and what that is.
  READABLE = {
    "a default of another type" => [record({"name" => "a", "type" => "int", "default" => ""}), "\x0e", {"a" => 7}],
    "null as the default of a string" => [record({"name" => "a", "type" => "string", "default" => nil}), "\x02q", {"a" => "q"}],
    "0.0 as the default of a long" => [record({"name" => "a", "type" => "long", "default" => 0.0}), "\x0e", {"a" => 7}],
    "a default of no branch" => [record({"name" => "a", "type" => %w[null int], "default" => "x"}), "\x02\x0e", {"a" => 7}],
    "a default deep inside" => [record({"name" => "l", "type" => {"type" => "array", "items" => record({"name" => "a", "type" => "int", "default" => "x"}, "name" => "I")}}),
                                "\x02\x0e\x00", {"l" => [{"a" => 7}]}],
    "a field user-agent" => [record({"name" => "user-agent", "type" => "int"}), "\x0e", {"user-agent" => 7}],
    "a field without letters" => [record({"name" => "", "type" => "int"}), "\x0e", {"" => 7}],
    "a field with a dot" => [record({"name" => "a.b", "type" => "int"}), "\x0e", {"a.b" => 7}],
    "a record my-row" => [record({"name" => "a", "type" => "int"}, "name" => "my-row"), "\x0e", {"a" => 7}],
    "a namespace my-db" => [record({"name" => "a", "type" => "int"}, "namespace" => "my-db.public"), "\x0e", {"a" => 7}],
    "a namespace within a name" => [record({"name" => "a", "type" => "int"}, "name" => "com.foo.Outer$.R"), "\x0e", {"a" => 7}],
    "a namespace that ends with a dot" => [record({"name" => "a", "type" => "int"}, "name" => "com..R"), "\x0e", {"a" => 7}],
    "a record map" => [record({"name" => "a", "type" => "int"}, "name" => "map"), "\x0e", {"a" => 7}],
    "a symbol n/a" => [{"type" => "enum", "name" => "E", "symbols" => ["n/a", "B"]}, "\x00", "n/a"],
    "an enum's default that is none of its symbols" => [{"type" => "enum", "name" => "E", "symbols" => ["A"], "default" => "B"}, "\x00", "A"]
  }.freeze

  # As Java's library has it by default.
  VALID = {
    "letters of other languages" => [record({"name" => "größe", "type" => "int"}, "name" => "Maß", "namespace" => "läden.東京"), "\x0e", {"größe" => 7}],
    "digits and signs of other languages" => [record({"name" => "_имя٣", "type" => "int"}), "\x0e", {"_имя٣" => 7}],
    "symbols of other languages" => [{"type" => "enum", "name" => "E", "symbols" => ["groß"]}, "\x00", "groß"]
  }.freeze

  def test_schemas_of_a_registry_are_read
    server = RegistryServer.new
    schemas = READABLE.merge(VALID).values
    schemas.each_with_index { |(schema, _), index| server.add(index + 1, schema) }
    codec = Guildhall::Avro::Confluent.new(Guildhall::SchemaRegistry.new(server.url, retries: 0))
    payloads = schemas.each_with_index.map { |(_, bytes), index| [0, index + 1, bytes].pack("CNa*").freeze }
    expected = schemas.map(&:last)
    assert_equal expected, payloads.map { |bytes| codec.decode(bytes) }
    assert_equal expected, payloads.map { |bytes| plain(codec.document(bytes)) }
    Guildhall::Pool.open(workers: 1) do |pool|
      [codec, codec.lazy].each { |one| assert_equal expected, pool.map(payloads, one, parallel: true).map { |value| plain(value) } }
    end
  ensure
    server&.close
  end

  def test_schemas_of_a_registry_are_checked_where_that_is_wanted
    server = RegistryServer.new
    READABLE.values.each_with_index { |(schema, _), index| server.add(index + 1, schema) }
    codec = Guildhall::Avro::Confluent.new(Guildhall::SchemaRegistry.new(server.url, retries: 0), strict_schemas: true)
    READABLE.each_with_index do |(name, _), index|
      error = assert_raises(Guildhall::SchemaRegistry::UnusableSchemaError, name) { codec.decode([0, index + 1, "x"].pack("CNa*")) }
      assert_match(/\Athe Avro schema #{index + 1} cannot be used: Avro schema: /, error.message, name)
    end
  ensure
    server&.close
  end

  def test_schemas_of_a_file_are_read
    READABLE.merge(VALID).each do |name, (schema, bytes, value)|
      file = file(schema, bytes)
      assert_equal [value], Guildhall::Avro::Container.each(file).to_a, name
      assert_equal [value], Guildhall::Avro::Container::Reader.new(file).each_block.flat_map(&:objects), name
    end
    READABLE.each do |name, (schema, bytes)|
      assert_raises(Guildhall::Avro::SchemaError, name) { Guildhall::Avro::Container.each(file(schema, bytes), strict_schemas: true).to_a }
    end
  end

  def test_schemas_that_the_application_gives_are_checked
    READABLE.each do |name, (schema, _)|
      [-> { Schema.parse(schema) }, -> { Guildhall::Avro.new(schema) }, -> { Guildhall::Avro.new(schema, strict_schemas: true) },
       -> { Guildhall::Avro.new("int", reader: schema) }, -> { Guildhall::Avro::SingleObject.new([schema]) },
       -> { Guildhall::Avro::SingleObject.new(["int"], reader: schema) }, -> { Guildhall::Avro::Container::Writer.new(StringIO.new, schema) },
       -> { Guildhall::Avro::Container.each(file("int", "\x02"), reader: schema) }, -> { confluent(schema:, topic: "t", register: true) },
       -> { confluent(reader: schema) }].each do |parse|
        assert_includes assert_raises(Guildhall::Avro::SchemaError, name, &parse).message, "Avro schema: ", name
      end
    end
  end

  def test_the_check_says_how_to_read_without_it
    READABLE.except("a record map").each do |name, (schema, _)|
      assert_match(/; to read what was written with it, pass strict_schemas: false to the codec, or strict: false to Guildhall::Avro::Schema.parse\z/,
        assert_raises(Guildhall::Avro::SchemaError, name) { Guildhall::Avro.new(schema) }.message)
    end
  end

  def test_the_check_can_be_switched_off
    READABLE.each do |name, (schema, bytes, value)|
      codecs = [Guildhall::Avro.new(schema, strict_schemas: false), Guildhall::Avro.new(schema, reader: schema, strict_schemas: false),
                Guildhall::Avro.new(Schema.parse(schema, strict: false)), Guildhall::Avro.new(Schema.parse(schema, strict: false), strict_schemas: true)]
      codecs.each do |codec|
        assert_equal value, codec.decode(bytes.b), name
        assert_equal bytes.b, codec.encode(value), name
      end
      single = Guildhall::Avro::SingleObject.new([schema], reader: schema, strict_schemas: false)
      assert_equal value, single.decode(single.encode(value)), name
      assert confluent(reader: schema, strict_schemas: false)
    end
  end

  def test_valid_names_of_all_languages
    VALID.each { |name, (schema, bytes, value)| assert_equal value, Guildhall::Avro.new(schema).decode(bytes.b), name }
  end

  # A default that is wrong is found when it is needed.
  def test_defaults_of_a_reader_that_was_not_checked
    inner = self.class.record({"name" => "b", "type" => "int", "default" => "x"}, "name" => "I")
    [["int", ""], [%w[null int], "x"], [inner, {}], [{"type" => "array", "items" => inner}, [{"b" => 1}, {}]]].each do |type, default|
      reader = self.class.record({"name" => "a", "type" => type, "default" => default})
      error = assert_raises(Guildhall::Avro::SchemaError) { Guildhall::Avro.new(self.class.record, reader:, strict_schemas: false) }
      assert_includes error.message, "and is needed: the writer has no such field"
    end
  end

  # What reading depends on is wrong whoever has it.
  def test_what_cannot_be_read
    [{"type" => "enum", "name" => "E"}, {"type" => "fixed", "name" => "F"}, {"type" => "record", "name" => 5, "fields" => []}, "nope", %w[int int],
     {"type" => "fixed", "name" => "int", "size" => 1}, self.class.record({"name" => 5, "type" => "int"})].each do |schema|
      assert_raises(Guildhall::Avro::SchemaError, schema.inspect) { Schema.parse(schema, strict: false) }
    end
  end

  private

  def plain(value) = value.respond_to?(:to_h) ? value.to_h : value

  def confluent(**) = Guildhall::Avro::Confluent.new(Guildhall::SchemaRegistry.new("http://127.0.0.1:19119", retries: 0), **)

  def file(schema, bytes)
    io = StringIO.new("".b)
    metadata = Guildhall::Avro::Container::METADATA.encode({"avro.schema" => JSON.generate(schema).b})
    long = Guildhall::Avro.new("long")
    io.write("Obj\x01".b, metadata, "s" * 16, long.encode(1), long.encode(bytes.bytesize), bytes.b, "s" * 16)
    io.string
  end
end
