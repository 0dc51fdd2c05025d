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

  def test_an_import_that_is_missing
    order = ProtobufFiles.order(["item.proto", "shop/gone.proto"])
    @server["/schemas/ids/4?format=serialized"] = [200, {schema: ProtobufFiles.serialized(order)}]
    @server["/schemas/ids/4/versions"] = [200, [{subject: "orders-value", version: 2}]]
    codec = Guildhall::Protobuf::Confluent.new(@registry)
    2.times do
      @server.requests.clear
      error = assert_raises(Guildhall::SchemaRegistry::UnusableSchemaError) { codec.decode("\0\0\0\0\4\0".b) }
      assert_match(%r{\Athe Protobuf schema 4 of the subject orders-value cannot be used: .*the import shop/gone.proto is missing: give the schema a reference}, error.message)
      assert_equal [4, ["orders-value"]], [error.id, error.subjects]
    end
    assert_empty @server.requests, "it was tried once"
    error = assert_raises(Guildhall::SchemaError) { Guildhall::Protobuf::Confluent.new(@registry, topic: "orders") }
    assert_match(/of the subject orders-value cannot be used/, error.message)
  end

  def test_files_that_cannot_be_built
    broken = ProtobufFiles.file(name: "x", message_type: [ProtobufFiles.message("A", [["a", 1, ".nowhere.B"]])])
    @server["/schemas/ids/4?format=serialized"] = [200, {schema: ProtobufFiles.serialized(broken)}]
    error = assert_raises(Guildhall::SchemaRegistry::UnusableSchemaError) { Guildhall::Protobuf::Confluent.new(@registry).decode("\0\0\0\0\4\0".b) }
    assert_match(/schema-4.proto: .*nowhere/, error.message)
  end

  # Each schema refers to its version of the file.
  def test_two_versions_of_a_file_with_one_name
    add_thing(1, "one")
    add_thing(2, "two")
    [1, 2].each { |version| add_holder(70 + version, [["thing.proto", "thing", version]], %w[Thing]) }
    payload = Guildhall::Protobuf.new(ProtobufFiles.set_of(thing("one"), holder(%w[Thing], ["thing.proto"])), message: "Holder").encode({thing: {one: 1}})
    codec = Guildhall::Protobuf::Confluent.new(@registry)
    assert_equal([{"thing" => {"one" => 1}}, {"thing" => {"two" => 1}}], [71, 72].map { |id| codec.decode("\0\0\0\0".b + id.chr + "\0" + payload) })
  end

  # One message cannot have both, and neither is to stand for the other.
  def test_two_versions_of_a_file_in_one_schema
    add_thing(1, "one")
    add_thing(2, "two")
    add_side(61, 1)
    add_side(62, 2)
    error = assert_raises(Guildhall::SchemaRegistry::UnusableSchemaError) { two_sides(71) }
    assert_match(/two files are imported as thing.proto, with different contents: version 1 of thing and version 2 of thing; let all/, error.message)
    add_thing(2, "one")
    @registry = Guildhall::SchemaRegistry.new(@server.url, retries: 0)
    assert_equal({}, two_sides(71), "both say the same")
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

  # Several subjects may have one schema.
  def test_the_subject_that_was_asked_for
    @server["/subjects/carts-value/versions/latest"] = [200, {id: 4, subject: "carts-value", version: 9, schemaType: "PROTOBUF", schema: "message Order {}"}]
    @server["/subjects/orders-value/versions/latest"] = [200, {id: 4, subject: "orders-value", version: 2, schemaType: "PROTOBUF", schema: "message Order {}"}]
    registry = Guildhall::SchemaRegistry.new(@server.url, retries: 0)
    assert_equal([["orders-value", 2], ["carts-value", 9], ["orders-value", 2]],
      %w[orders-value carts-value orders-value].map { |subject| registry.latest(subject).then { [it.subject, it.version] } })
  end

  def test_indexes
    [[0], [1], [0, 3, 200], [70]].each do |indexes|
      written = Guildhall::Protobuf::MessageIndexes.write(indexes)
      assert_equal [indexes, written.bytesize + 1], Guildhall::Protobuf::MessageIndexes.read("x".b + written + "rest".b, 1)
    end
  end

  private

  # message Thing { int32 FIELD = 1; }
  def thing(field) = ProtobufFiles.file(name: "thing.proto", message_type: [ProtobufFiles.message("Thing", [[field, 1, :TYPE_INT32]])])

  # A message with a field of each of these types.
  def holder(types, dependency, name = "Holder")
    fields = types.each_with_index.map { |type, index| [type.downcase, index + 1, ".#{type}"] }
    ProtobufFiles.file(name: "holder.proto", dependency:, message_type: [ProtobufFiles.message(name, fields)])
  end

  def add_thing(version, field)
    @server["/subjects/thing/versions/#{version}"] = [200, {id: 50 + version, subject: "thing", version:, schemaType: "PROTOBUF", schema: "x"}]
    @server["/schemas/ids/#{50 + version}?format=serialized"] = [200, {schema: ProtobufFiles.serialized(thing(field))}]
  end

  def add_holder(id, references, types, name = "Holder")
    answer = {schema: "x", schemaType: "PROTOBUF", references: references.map { |import, subject, version| {name: import, subject:, version:} }}
    @server.add(id, "x", **answer.except(:schema))
    @server["/subjects/side#{id}/versions/1"] = [200, {id:, subject: "side#{id}", version: 1, **answer}]
    @server["/schemas/ids/#{id}?format=serialized"] = [200, {schema: ProtobufFiles.serialized(holder(types, references.map(&:first), name))}]
  end

  def add_side(id, version) = add_holder(id, [["thing.proto", "thing", version]], %w[Thing], "Side#{id}")

  def two_sides(id)
    add_holder(id, [["side61.proto", "side61", 1], ["side62.proto", "side62", 1]], %w[Side61 Side62])
    Guildhall::Protobuf::Confluent.new(@registry).decode("\0\0\0\0".b + id.chr + "\0")
  end
end
