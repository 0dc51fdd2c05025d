# frozen_string_literal: true

require "test_helper"
require "support/registry_server"
require "support/protobuf_files"
require "guildhall/protobuf/confluent"

class ProtobufConfluentTest < GuildhallTest
  GUID = "0f0d1f2a-3b4c-5d6e-7f80-91a2b3c4d5e6"
  Metadata = Data.define(:headers)

  def setup
    item = {id: 3, subject: "item", version: 1, schemaType: "PROTOBUF", schema: "message Item {}"}
    order = {schemaType: "PROTOBUF", schema: "message Order {}", references: [{name: "item.proto", subject: "item", version: 1}], guid: GUID}
    @server = RegistryServer.new("/subjects/item/versions/1" => [200, item], "/subjects/orders-value/versions/latest" => [200, {id: 4, **order}],
      "/schemas/ids/3?format=serialized" => [200, {schema: ProtobufFiles.serialized(ProtobufFiles.item)}],
      "/schemas/ids/4?format=serialized" => [200, {schema: ProtobufFiles.serialized(ProtobufFiles.order)}], "/schemas/guids/#{GUID}" => [200, {id: 4, **order}])
    @server.add(4, "message Order {}", **order.except(:schema))
    @registry = Guildhall::SchemaRegistry.new(@server.url, retries: 0)
    @codec = Guildhall::Protobuf::Confluent.new(@registry, topic: "orders")
  end

  def teardown
    @server.close
  end

  def test_reads_and_writes_the_first_message
    bytes = @codec.encode({id: 5, items: [{sku: "a"}]})
    assert_equal "\0\0\0\0\4\0".b, bytes.byteslice(0, 6)
    decoded = Guildhall::Protobuf::Confluent.new(@registry).call(bytes)
    assert_equal [5, "a"], [decoded["id"], decoded["items"][0]["sku"]]
    assert Ractor.shareable?(decoded)
  end

  def test_other_messages_of_the_schema
    {"shop.Other" => ["\2\2".b, {"id" => 9}], "shop.Order.Note" => ["\4\0\2".b, {"text" => "x"}]}.each do |message, (indexes, object)|
      codec = Guildhall::Protobuf::Confluent.new(@registry, topic: "orders", message:)
      bytes = codec.encode(object)
      assert_equal "\0\0\0\0\4".b + indexes, bytes.byteslice(0, 5 + indexes.bytesize)
      assert_equal object, @codec.decode(bytes)
    end
    assert_match(/shop.Order.Note/, assert_raises(Guildhall::ArgumentError) { Guildhall::Protobuf::Confluent.new(@registry, topic: "orders", message: "Note") }.message)
  end

  def test_a_subject_of_another_type_is_refused_when_the_codec_is_made
    @server["/subjects/s/versions/latest"] = [200, {id: 9, subject: "s", version: 1, schema: '"int"'}]
    error = assert_raises(Guildhall::ArgumentError) { Guildhall::Protobuf::Confluent.new(@registry, subject: "s") }
    assert_match(/schema 9 of the subject s is of type AVRO, not PROTOBUF: .* use Guildhall::Avro::Confluent/, error.message)
  end

  def test_what_is_wrong_is_named
    assert_raises(Guildhall::DecodeError) { @codec.decode("\0\0\0\0\4".b) }
    assert_match(/no message at 7/, assert_raises(Guildhall::DecodeError) { @codec.decode("\0\0\0\0\4\2\x0e".b) }.message)
    ["\xff\xff\xff\xff\xff\xff", "\x01", "\x80"].each { |indexes| assert_raises(Guildhall::DecodeError, indexes) { @codec.decode("\0\0\0\0\4".b + indexes.b) } }
    assert_raises(Guildhall::SchemaRegistry::UnknownSchemaError) { @codec.decode("\0\0\0\0\5\0".b) }
  end

  def test_schemas_named_in_headers
    codec = Guildhall::Protobuf::Confluent.new(@registry, topic: "orders", message: "shop.Other", schema_id: :headers)
    assert_equal "\1".b + [GUID.delete("-")].pack("H*") + "\2\2".b, codec.headers.fetch("__value_schema_id")
    assert_equal({"id" => 3}, codec.call(codec.encode({"id" => 3}), Metadata.new(codec.headers)))
  end

  def test_a_registry_that_gives_schemas_named_by_guid_no_id
    codec = Guildhall::Protobuf::Confluent.new(@registry, topic: "orders", message: "shop.Other", schema_id: :headers)
    @server["/schemas/guids/#{GUID}"] = [200, {schemaType: "PROTOBUF", schema: "message Order {}", references: [{name: "item.proto", subject: "item", version: 1}]}]
    @server["/schemas/guids/#{GUID}?format=serialized"] = [200, {schema: ProtobufFiles.serialized(ProtobufFiles.order)}]
    reader = Guildhall::Protobuf::Confluent.new(Guildhall::SchemaRegistry.new(@server.url, retries: 0), schema_id: :headers)
    assert_equal({"id" => 3}, reader.call(codec.encode({"id" => 3}), Metadata.new(codec.headers)))
  end

  # Both sides of each level are imported by both of the level above.
  def test_each_schema_is_asked_for_once_however_many_ways_lead_to_it
    9.times do |level|
      below = level == 8 ? [] : %w[A B].map { |side| "#{side}#{level + 1}" }
      %w[A B].each_with_index do |side, index|
        fields = below.each_with_index.map { |name, at| [name.downcase, at + 1, ".#{name}"] }
        file = ProtobufFiles.file(name: "x", dependency: below.map { |name| "#{name}.proto" }, message_type: [ProtobufFiles.message("#{side}#{level}", fields)])
        answer = {schema: "x", schemaType: "PROTOBUF", references: below.map { |name| {name: "#{name}.proto", subject: name, version: 1} }}
        id = 50 + (level * 2) + index
        @server["/subjects/#{side}#{level}/versions/1"] = [200, {id:, subject: "#{side}#{level}", version: 1, **answer}]
        @server["/schemas/ids/#{id}?format=serialized"] = [200, {schema: ProtobufFiles.serialized(file)}]
        @server.add(id, answer[:schema], **answer.except(:schema)) if id == 50
      end
    end
    @server.requests.clear
    assert_equal({}, Guildhall::Protobuf::Confluent.new(@registry).decode("\0\0\0\0\x32\0".b))
    assert_equal 17 + 17, @server.requests.size
  end

  def test_a_registry_that_gives_no_serialized_schemas
    @server["/schemas/ids/4?format=serialized"] = [200, {schema: "message Order {}"}]
    error = assert_raises(Guildhall::SchemaRegistry::Error) { Guildhall::Protobuf::Confluent.new(@registry).decode("\0\0\0\0\4\0".b) }
    assert_match(/no serialized Protobuf schema for schema 4/, error.message)
    assert_predicate error, :outage?
  end

  def test_a_schema_without_messages
    @server["/schemas/ids/4?format=serialized"] = [200, {schema: ProtobufFiles.serialized(ProtobufFiles.file(name: "x"))}]
    error = assert_raises(Guildhall::ArgumentError) { Guildhall::Protobuf::Confluent.new(@registry, topic: "orders") }
    assert_match(/the schema has no message at all/, error.message)
    assert_match(/it has none/, assert_raises(Guildhall::DecodeError) { Guildhall::Protobuf::Confluent.new(@registry).decode("\0\0\0\0\4\0".b) }.message)
  end

  def test_wrong_options
    {max_bytes: -1, symbolize_names: "no", nope: 1}.each do |name, value|
      error = assert_raises(Guildhall::ArgumentError) { Guildhall::Protobuf::Confluent.new(@registry, name => value) }
      assert_match(/Protobuf::Confluent: .*#{name}/, error.message)
    end
  end

  def test_indexes
    [[0], [1], [0, 3, 200], [70]].each do |indexes|
      written = Guildhall::Protobuf::MessageIndexes.write(indexes)
      assert_equal [indexes, written.bytesize + 1], Guildhall::Protobuf::MessageIndexes.read("x".b + written + "rest".b, 1)
    end
  end
end
