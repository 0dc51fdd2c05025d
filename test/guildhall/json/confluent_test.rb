# frozen_string_literal: true

require "test_helper"
require "support/registry_server"
require "support/round_trips"
require "guildhall/json/confluent"
require "guildhall/pipeline"

class JSONConfluentTest < GuildhallTest
  SCHEMA = JSON.generate({title: "shop.Order", type: "object", required: ["id"], properties: {id: {type: "integer"}}})
  GUID = "0f0d1f2a-3b4c-5d6e-7f80-91a2b3c4d5e6"
  Metadata = Data.define(:headers)

  def setup
    answer = {id: 7, subject: "orders-value", version: 1, schemaType: "JSON", schema: SCHEMA, guid: GUID}
    @server = RegistryServer.new("/subjects/orders-value/versions/latest" => [200, answer], "/subjects/orders-value" => [200, answer],
      "/subjects/orders-value/versions" => [200, {id: 7}], "/schemas/guids/#{GUID}" => [200, {schemaType: "JSON", schema: SCHEMA}])
    @server.add(7, SCHEMA, schemaType: "JSON", guid: GUID)
    @server.add(8, '"int"')
    @registry = Guildhall::SchemaRegistry.new(@server.url, retries: 0)
  end

  def teardown
    @server.close
  end

  def test_reads_and_writes
    codec = Guildhall::JSON::Confluent.new(@registry, topic: "orders")
    bytes = codec.encode({"id" => 1})
    assert_equal "\0\0\0\0\x07{\"id\":1}".b, bytes
    assert_equal({"id" => 1}, codec.call(bytes))
    assert Ractor.shareable?(codec.decode(bytes))
    assert_equal 1, codec.lazy.decode(bytes)["id"]
    assert_instance_of Guildhall::JSON::ObjectDocument, codec.document(bytes)
    assert_equal({id: 1}, Guildhall::JSON::Confluent.new(@registry, symbolize_names: true).decode(bytes))
  end

  def test_validates_where_asked
    codec = Guildhall::JSON::Confluent.new(@registry, validate: true, topic: "orders")
    bad = "\0\0\0\0\x07{\"id\":\"x\"}".b
    assert_match(/id/, assert_raises(Guildhall::ValidationError) { codec.decode(bad) }.message)
    assert_raises(Guildhall::ValidationError) { codec.lazy.call(bad) }
    assert_raises(Guildhall::ValidationError) { codec.encode({"id" => "x"}) }
    assert_equal({"id" => "x"}, Guildhall::JSON::Confluent.new(@registry).decode(bad))
  end

  def test_workers_know_what_was_prepared
    codec = Guildhall::JSON::Confluent.new(@registry).lazy >> Guildhall::Pipeline::Map.new(Fetch)
    codec.prepare(["\0\0\0\0\x07{}".b, nil, "x"])
    assert_equal 5, ractor_value(Ractor.new(codec) { |pipeline| pipeline.call("\0\0\0\0\x07{\"id\":5}".b.freeze) })
  end

  module Fetch
    def self.call(document) = document["id"]
  end

  def test_errors_say_where
    codec = Guildhall::JSON::Confluent.new(@registry)
    error = assert_raises(Guildhall::JSON::ParseError) { codec.decode("\0\0\0\0\x07{\"id\":}".b) }
    assert_equal 11, error.offset
    assert_match(/zero byte/, assert_raises(Guildhall::DecodeError) { codec.decode("{}") }.message)
    assert_match(/AVRO/, assert_raises(Guildhall::SchemaRegistry::UnknownSchemaError) { codec.decode("\0\0\0\0\x08{}".b) }.message)
    assert_raises(Guildhall::EncodeError) { codec.encode({}) }
  end

  def test_a_subject_of_another_type_is_refused_when_the_codec_is_made
    @server["/subjects/s/versions/latest"] = [200, {id: 9, subject: "s", version: 1, schema: '"int"'}]
    [{}, {validate: true}].each do |options|
      error = assert_raises(Guildhall::ArgumentError) { Guildhall::JSON::Confluent.new(@registry, subject: "s", **options) }
      assert_match(/schema 9 of the subject s is of type AVRO, not JSON: .* use Guildhall::Avro::Confluent/, error.message)
    end
  end

  def test_what_is_no_string_is_refused_as_json_refuses_it
    codec = Guildhall::JSON::Confluent.new(@registry)
    assert_equal "no implicit conversion of Integer into String", assert_raises(TypeError) { codec.decode(5) }.message
  end

  def test_a_header_that_names_no_schema
    codec = Guildhall::JSON::Confluent.new(@registry, schema_id: :headers)
    ["", "\0\0", "\1abc", "\2#{"a" * 16}", nil, 5, [nil], [:a]].each do |value|
      ["{}", "\0\0\0\0\x07{}".b].each do |bytes|
        error = assert_raises(Guildhall::DecodeError, value.inspect) { codec.decode(bytes, Metadata.new({"__value_schema_id" => value})) }
        assert_match(/its header __value_schema_id names no schema: that is a byte 0 and an id .* GUID of 16 bytes\z/, error.message)
        assert_nil error.offset
        assert_same codec, codec.prepare([bytes], [Metadata.new({"__value_schema_id" => value})])
      end
    end
    assert_empty @server.requests
    assert_equal({}, codec.decode("{}", Metadata.new({"__value_schema_id" => ["\0", "\0\0\0\0\x07".b]})), "the last of them counts")
  end

  def test_preparing_stops_at_an_outage
    (100..109).each { |id| @server["/schemas/ids/#{id}"] = [503, {message: "down"}] }
    codec = Guildhall::JSON::Confluent.new(@registry)
    payloads = [7, *100..109].map { |id| "\0\0\0\0#{id.chr}{}".b }
    assert_equal 503, assert_raises(Guildhall::SchemaRegistry::Error) { codec.prepare(payloads) }.status
    assert_equal ["GET /schemas/ids/7", "GET /schemas/ids/100"], @server.requests
  end

  def test_preparing_goes_on_after_a_schema_that_makes_no_sense
    @server.add(100, "{}", schemaType: 5)
    codec = Guildhall::JSON::Confluent.new(@registry)
    assert_raises(Guildhall::SchemaRegistry::Error) { codec.prepare([100, 7].map { |id| "\0\0\0\0#{id.chr}{}".b }) }
    assert_equal({}, ractor_value(Ractor.new(codec) { |shared| shared.call("\0\0\0\0\x07{}".b.freeze) }))
  end

  def test_schemas_named_in_headers
    codec = Guildhall::JSON::Confluent.new(@registry, topic: "orders", schema_id: :headers)
    bytes = codec.encode({"id" => 1})
    assert_equal "{\"id\":1}", bytes
    assert_equal({"__value_schema_id" => "\1".b + [GUID.delete("-")].pack("H*")}, codec.headers)
    assert_equal({"id" => 1}, codec.call(bytes, Metadata.new(codec.headers)))
    assert_equal({"id" => 1}, codec.lazy.call(bytes, Metadata.new(codec.headers)).to_h)
    assert_equal({"id" => 2}, codec.call("\0\0\0\0\x07{\"id\":2}".b, Metadata.new({})), "a message of the older kind")
    assert_match(/, and no header names a schema/, assert_raises(Guildhall::DecodeError) { codec.call(bytes, Metadata.new({})) }.message)
    error = assert_raises(Guildhall::DecodeError) { Guildhall::JSON::Confluent.new(@registry).call(bytes, Metadata.new(codec.headers)) }
    assert_match(/a header names the schema: make the codec with schema_id: :headers/, error.message)
    assert_raises(Guildhall::ArgumentError) { Guildhall::JSON::Confluent.new(@registry, schema_id: :header) }
  end

  def test_headers_are_prepared_for_workers
    codec = Guildhall::JSON::Confluent.new(@registry, schema_id: :headers)
    metadata = Ractor.make_shareable(Metadata.new({"__value_schema_id" => "\1".b + [GUID.delete("-")].pack("H*")}))
    (codec >> Guildhall::Pipeline::Map.new(Fetch)).prepare(["{}"], [metadata])
    assert_equal({"id" => 3}, ractor_value(Ractor.new(codec, metadata) { |shared, given| shared.call("{\"id\":3}", given) }))
  end

  def test_schema_of_its_own
    codec = Guildhall::JSON::Confluent.new(@registry, topic: "orders", schema: SCHEMA)
    assert_equal "\0\0\0\0\x07".b, codec.encode({"id" => 1}).byteslice(0, 5)
    assert_includes @server.requests, "POST /subjects/orders-value"
    Guildhall::JSON::Confluent.new(@registry, topic: "orders", schema: SCHEMA, register: true)
    assert_includes @server.requests, "POST /subjects/orders-value/versions"
    assert_raises(Guildhall::SchemaRegistry::Error) { Guildhall::JSON::Confluent.new(@registry, topic: "o", subject_name: :topic_record, schema: SCHEMA) }
    assert_includes @server.requests, "POST /subjects/o-shop.Order"
  end

  def test_a_schema_given_as_a_hash_is_sent_as_text
    schema = {"title" => "shop.Order", "type" => "object"}
    Guildhall::JSON::Confluent.new(@registry, topic: "orders", schema:)
    assert_equal JSON.generate(schema), JSON.parse(@server.bodies.last).fetch("schema")
    assert_raises(Guildhall::SchemaRegistry::Error) { Guildhall::JSON::Confluent.new(@registry, topic: "o", subject_name: :topic_record, schema:) }
    assert_includes @server.requests, "POST /subjects/o-shop.Order"
  end

  def test_validates_by_schemas_that_the_schema_refers_to
    @server["/subjects/item/versions/1"] = [200, {id: 3, schemaType: "JSON", schema: '{"properties":{"sku":{"$ref":"sku.json"}}}', references: [{name: "sku.json", subject: "sku", version: 2}]}]
    @server["/subjects/sku/versions/2"] = [200, {id: 4, schemaType: "JSON", schema: '{"type":"string"}'}]
    {9 => "", 10 => '"$id":"https://shop.example/order.json",'}.each do |id, own|
      @server.add(id, "{#{own}\"$ref\":\"item.json\"}", schemaType: "JSON", references: [{name: "item.json", subject: "item", version: 1}])
      codec = Guildhall::JSON::Confluent.new(@registry, validate: true)
      assert_equal({"sku" => "a"}, codec.decode("\0\0\0\0#{id.chr}{\"sku\":\"a\"}".b))
      assert_raises(Guildhall::ValidationError) { codec.decode("\0\0\0\0#{id.chr}{\"sku\":1}".b) }
    end
  end

  def test_a_name_that_means_two_schemas_cannot_be_compiled
    add_version("b", 1, {"type" => "string"})
    add_version("b", 2, {"type" => "integer"})
    add_version("a", 1, {"properties" => {"x" => {"$ref" => "b.json"}}}, ["b.json", "b", 1])
    add_version("c", 1, {"properties" => {"x" => {"$ref" => "b.json"}}}, ["b.json", "b", 2])
    add(50, {"properties" => {"a" => {"$ref" => "a.json"}, "c" => {"$ref" => "c.json"}}}, ["a.json", "a", 1], ["c.json", "c", 1])
    codec = Guildhall::JSON::Confluent.new(@registry, validate: true)
    _, warned = capture_io { assert_equal({"a" => {"x" => "s"}, "c" => {"x" => 5}}, codec.decode("\0\0\0\0\x32{\"a\":{\"x\":\"s\"},\"c\":{\"x\":5}}".b)) }
    assert_match(/its references mean two schemas by b\.json: version 1 of b and version 2 of b; payloads .* without being checked/, warned)
  end

  # In folders of their own they mean what each says.
  def test_names_are_relative_to_the_schema_that_has_them
    add_version("b", 1, {"type" => "string"})
    add_version("b", 2, {"type" => "integer"})
    add_version("a", 1, {"properties" => {"x" => {"$ref" => "b.json"}}}, ["b.json", "b", 1])
    add_version("c", 1, {"properties" => {"x" => {"$ref" => "b.json"}}}, ["b.json", "b", 2])
    properties = {"properties" => {"a" => {"$ref" => "sub/a.json"}, "c" => {"$ref" => "other/c.json"}}}
    [{}, {"$id" => "https://shop.example/root.json"}].each_with_index do |own, index|
      add(50 + index, {**own, **properties}, ["sub/a.json", "a", 1], ["other/c.json", "c", 1])
      codec = Guildhall::JSON::Confluent.new(@registry, validate: true)
      payload = ->(a, c) { "\0\0\0\0#{(50 + index).chr}#{JSON.generate({a: {x: a}, c: {x: c}})}".b }
      assert_equal({"a" => {"x" => "s"}, "c" => {"x" => 5}}, codec.decode(payload["s", 5]))
      [[5, 5], %w[s s]].each { |wrong| assert_raises(Guildhall::ValidationError, wrong.inspect) { codec.decode(payload[*wrong]) } }
    end
  end

  # Java's client resolves all names against the first schema's URI.
  def test_names_that_are_relative_to_the_first_schema
    add_version("b", 1, {"type" => "string"})
    add_version("a", 1, {"properties" => {"x" => {"$ref" => "../b.json"}}}, ["b.json", "b", 1])
    add(50, {"$id" => "https://shop.example/root.json", "properties" => {"a" => {"$ref" => "sub/a.json"}}}, ["sub/a.json", "a", 1])
    codec = Guildhall::JSON::Confluent.new(@registry, validate: true)
    assert_equal({"a" => {"x" => "s"}}, codec.decode("\0\0\0\0\x32{\"a\":{\"x\":\"s\"}}".b))
    assert_raises(Guildhall::ValidationError) { codec.decode("\0\0\0\0\x32{\"a\":{\"x\":5}}".b) }
  end

  def test_each_schema_is_asked_for_once_however_many_ways_lead_to_it
    17.times do |level|
      references = level == 16 ? [] : %w[A B].map { |side| ["#{side}#{level + 1}.json", "#{side}#{level + 1}", 1] }
      schema = {"type" => "object", "properties" => references.to_h { |name,| [name[0], {"$ref" => name}] }}
      %w[A B].each { |side| add_version("#{side}#{level}", 1, schema, *references) }
      add(50, schema, *references) if level.zero?
    end
    codec = Guildhall::JSON::Confluent.new(@registry, validate: true)
    assert_equal({"A" => {}}, codec.decode("\0\0\0\0\x32{\"A\":{}}".b))
    assert_equal 33, @server.requests.size
  end

  # .NET's serializer writes draft-04.
  def test_validates_by_schemas_of_all_drafts
    ["http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
     "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema"].each_with_index do |draft, index|
      @server.add(20 + index, {"$schema" => draft, "title" => "Order", "type" => "object", "properties" => {"Id" => {"type" => "integer"}}}, schemaType: "JSON")
      codec = Guildhall::JSON::Confluent.new(@registry, validate: true)
      [codec, codec.lazy].each do |one|
        assert_equal({"Id" => 5}, one.decode("\0\0\0\0#{(20 + index).chr}{\"Id\":5}".b).to_h)
        assert_raises(Guildhall::ValidationError, draft) { one.decode("\0\0\0\0#{(20 + index).chr}{\"Id\":\"x\"}".b) }
      end
    end
  end

  def test_the_draft_of_schemas_that_name_none
    @server.add(30, {"items" => [{"type" => "integer"}]}, schemaType: "JSON")
    assert_raises(Guildhall::ValidationError) { Guildhall::JSON::Confluent.new(@registry, validate: true, draft: "7").decode("\0\0\0\0\x1e[\"a\"]".b) }
    assert_match(/draft/, assert_raises(Guildhall::ArgumentError) { Guildhall::JSON::Confluent.new(@registry, draft: "3") }.message)
  end

  UNUSABLE = {"unknown draft" => {"$schema" => "http://json-schema.org/draft-03/schema#"}, "pattern" => {"pattern" => "(?<=a*)b"}, "endless" => {"$ref" => "#"},
              "missing" => {"$ref" => "other.json"}, "wrong" => {"type" => "text"}, "no schema" => [1]}.freeze

  # That is no message's fault: none is dead-lettered for it.
  def test_schemas_that_cannot_be_compiled
    UNUSABLE.each_value.with_index do |schema, index|
      @server.add(40 + index, schema, schemaType: "JSON", subject: "old-value")
      codec = Guildhall::JSON::Confluent.new(@registry, validate: true)
      payload = "\0\0\0\0#{(40 + index).chr}{\"id\":\"x\"}".b.freeze
      _, warned = capture_io { 3.times { assert_equal({"id" => "x"}, codec.decode(payload)) } }
      assert_match(/\Aguildhall: the JSON Schema #{40 + index} of the subject old-value cannot be used: .+; payloads that name it are decoded/, warned)
      assert_equal 1, warned.scan("guildhall:").size
      _, warned = capture_io { assert_equal "x", ractor_value(Ractor.new(codec.lazy, payload) { |lazy, bytes| lazy.call(bytes)["id"] }) }
      assert_empty warned
    end
  end

  def test_a_schema_whose_references_are_not_there
    @server.add(40, {"$ref" => "other.json"}, schemaType: "JSON", references: [{name: "other.json", subject: "gone", version: 3}])
    @server["/schemas/ids/40/versions"] = [200, %w[a b c d e f g].map { |subject| {subject:, version: 1} }]
    codec = Guildhall::JSON::Confluent.new(@registry, validate: true)
    _, warned = capture_io { 2.times { assert_equal 1, codec.decode("\0\0\0\x001".b.insert(4, "\x28")) } }
    assert_match(/\Aguildhall: the JSON Schema 40 of the subjects a, b, c, d, e and 2 more cannot be used: .* has no version 3 of the subject gone; payloads/, warned)
    assert_equal 1, warned.scan("guildhall:").size
  end

  def test_a_schema_to_encode_with_that_cannot_be_compiled
    answer = {id: 7, subject: "orders-value", version: 1, schemaType: "JSON", schema: JSON.generate(UNUSABLE["pattern"])}
    @server["/subjects/orders-value/versions/latest"] = [200, answer]
    @server.add(7, answer[:schema], schemaType: "JSON")
    error = assert_raises(Guildhall::SchemaError) { Guildhall::JSON::Confluent.new(@registry, validate: true, topic: "orders") }
    assert_match(/JSON Schema 7 of the subject orders-value cannot be used: .*look-behind/, error.message)
    assert_equal "\0\0\0\0\x071".b, Guildhall::JSON::Confluent.new(@registry, topic: "orders").encode(1)
  end

  def test_wrong_options
    assert_match(/validate/, assert_raises(Guildhall::ArgumentError) { Guildhall::JSON::Confluent.new(@registry, validate: "yes") }.message)
  end

  def test_reads_what_it_writes
    random = Random.new(5)
    codec = Guildhall::JSON::Confluent.new(@registry, topic: "orders", symbolize_names: true)
    plain = Guildhall::JSON.new(symbolize_names: true)
    100.times do
      value = RoundTrips::Nested.of(random, [1r, Date.new(2026, 3, 1)])
      text = begin
        plain.encode(value)
      rescue Guildhall::EncodeError
        assert_raises(Guildhall::EncodeError) { codec.encode(value) }
        next
      end
      assert RoundTrips.same?(plain.decode(text), codec.decode(codec.encode(value))), value.inspect
    end
  end

  private

  def add_version(subject, version, schema, *references)
    @server["/subjects/#{subject}/versions/#{version}"] = [200, {id: @ids = (@ids || 1_000) + 1, subject:, version:, schema: JSON.generate(schema), schemaType: "JSON", references: named(references)}]
  end

  def add(id, schema, *references) = @server.add(id, schema, schemaType: "JSON", references: named(references))

  def named(references) = references.map { |name, subject, version| {name:, subject:, version:} }
end
