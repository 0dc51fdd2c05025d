# frozen_string_literal: true

require "test_helper"
require "support/registry_server"
require "guildhall/avro"
require "guildhall/pool"

class AvroConfluentTest < GuildhallTest
  OLD = {type: "record", name: "R", fields: [{name: "a", type: "int"}]}.freeze
  NEW = {type: "record", name: "R", fields: [{name: "a", type: "long"}, {name: "b", type: "string", default: "x"}]}.freeze

  def setup
    @server = RegistryServer.new("/subjects/r/versions/latest" => [200, {id: 2, subject: "r", version: 2, schema: JSON.generate(NEW)}])
    @server.add(1, OLD)
    @server.add(2, NEW)
    @registry = Guildhall::SchemaRegistry.new(@server.url, retries: 0)
    @codec = Guildhall::Avro::Confluent.new(@registry)
  end

  def teardown
    @server.close
  end

  def test_reads_what_the_payload_names
    assert_equal({"a" => 5}, @codec.decode("\0\0\0\0\1\x0a".b))
    assert_equal({"a" => 5, "b" => "y"}, @codec.call("\0\0\0\0\2\x0a\x02y".b))
    assert_equal 5, Guildhall::Avro::Confluent.new(@registry, reader: NEW, symbolize_names: true).decode("\0\0\0\0\1\x0a".b)[:a]
  end

  # A batch is prepared, and then decoded by workers: what the registry has answered is what they say.
  def test_a_worker_says_what_the_registry_has_answered
    payload = "\0\0\0\0\7\x0a".b.freeze
    {60 => ["the registry does not know schema 7 yet; it is asked again", true], 0 => ["the registry has no schema 7", false]}.each do |unknown_after, expected|
      codec = Guildhall::Avro::Confluent.new(Guildhall::SchemaRegistry.new(@server.url, retries: 0, unknown_after:))
      Guildhall::Pool.open(workers: 1) do |pool|
        [codec, codec.lazy].each { |one| assert_equal expected, said { pool.results([payload], one, parallel: true)[0].raise! } }
      end
      codec.prepare([payload])
      assert_equal expected, said { codec.decode(payload) }
    end
    unprepared = Guildhall::Avro::Confluent.new(Guildhall::SchemaRegistry.new(@server.url, retries: 0))
    error = ractor_value(Ractor.new(unprepared, payload) { |codec, bytes| codec.decode(bytes) rescue $! }) # rubocop:disable Style/RescueModifier
    assert_equal ["schema 7 was not fetched before the batch was dispatched: call prepare(payloads) in the main Ractor first", true], said { raise error }
  end

  def test_writes_with_the_newest_schema_of_a_subject
    codec = Guildhall::Avro::Confluent.new(@registry, subject: "r")
    assert_equal "\0\0\0\0\2\x0a\x02y".b, codec.encode({"a" => 5, "b" => "y"})
    assert_raises(Guildhall::EncodeError) { @codec.encode({"a" => 5}) }
  end

  def test_writes_with_a_schema_of_its_own
    @server["/subjects/r-value"] = @server["/subjects/R"] = [200, {id: 2, subject: "r-value", version: 1, schema: JSON.generate(NEW)}]
    @server["/subjects/r-value/versions"] = [200, {id: 2}]
    [{topic: "r"}, {topic: "r", register: true}, {subject_name: :record}].each do |options|
      codec = Guildhall::Avro::Confluent.new(@registry, schema: NEW, **options)
      assert_equal "\0\0\0\0\2\x0a\x02y".b, codec.encode({"a" => 5, "b" => "y"})
      assert_equal JSON.generate(NEW), JSON.parse(@server.bodies.reject(&:empty?).last).fetch("schema")
    end
  end

  def test_wrong_options
    {key: "yes", register: 1, subject_name: :nope}.each do |name, value|
      assert_match(/Avro::Confluent: #{name}/, assert_raises(Guildhall::ArgumentError) { Guildhall::Avro::Confluent.new(@registry, name => value) }.message)
    end
    assert_match(/SchemaRegistry/, assert_raises(Guildhall::ArgumentError) { Guildhall::Avro::Confluent.new("http://localhost:8081") }.message)
    assert_match(/needs a schema/, assert_raises(Guildhall::ArgumentError) { Guildhall::Avro::Confluent.new(@registry, topic: "r", register: true) }.message)
  end

  def test_workers_know_what_was_prepared
    payloads = ["\0\0\0\0\1\x0a".b, "\0\0\0\0\2\x0a\x02y".b, "\0\0\0\0\1\x0c".b, "no".b, nil]
    @codec.prepare(payloads)
    assert_equal 2, @server.requests.size
    assert Ractor.shareable?(@codec)
    assert_equal [5, 6], ractor_value(Ractor.new(@codec) { |codec|
      ["\0\0\0\0\1\x0a", "\0\0\0\0\1\x0c"].map { |bytes|
        codec.decode(bytes)["a"]
      }
    })
  end

  def test_decodes_batches
    assert_equal [5, 6], @codec.decode_batch(["\0\0\0\0\1\x0a".b, "\0\0\0\0\1\x0c".b]).map { it["a"] }
    assert_equal 1, @server.requests.size
  end

  def test_the_lazy_codec_prepares_and_decodes_natively_what_payloads_name
    lazy = @codec.lazy
    documents = lazy.decode_batch(["\0\0\0\0\1\x0a".b, "\0\0\0\0\1\x0c".b])
    assert_equal [Guildhall::Avro::MapDocument, 5, 6], [documents.first.class, *documents.map { it["a"] }]
    assert_equal 1, @server.requests.size
    assert_kind_of Integer, lazy.native_decoder
    assert_equal [@registry, lazy, lazy], [lazy.registry, lazy.lazy, lazy.dup]
    assert_nil Guildhall::Avro::Confluent.new(@registry, schema_id: :headers).lazy.native_decoder
  end

  def test_workers_say_what_is_missing
    error = ractor_value(Ractor.new(@codec) { |codec| codec.decode("\0\0\0\0\2\x0a\x02y") rescue $! }) # rubocop:disable Style/RescueModifier
    assert_instance_of Guildhall::Avro::UnknownSchemaError, error
    assert_match(/prepare/, error.message)
    assert_equal 2, error.id
  end

  def test_unknown_ids
    2.times { assert_equal 7, assert_raises(Guildhall::Avro::UnknownSchemaError) { @codec.decode("\0\0\0\0\7x".b) }.id }
    assert_equal 1, @server.requests.size
  end

  def test_schemas_of_other_types
    {3 => "JSON", 4 => "PROTOBUF"}.each do |id, type|
      @server.add(id, "{}", schemaType: type)
      bytes = "\0\0\0\0".b + id.chr + "x"
      assert_match(/of type #{type}/, assert_raises(Guildhall::Avro::UnknownSchemaError) { @codec.decode(bytes) }.message)
    end
  end

  def test_what_is_no_wire_format
    ["", "\0\0\0\0", "\1\0\0\0\1x"].each { |bytes| assert_raises(Guildhall::DecodeError) { @codec.decode(bytes.b) } }
  end

  def test_many_threads_and_ractors_at_once
    assert_ruby(<<~'RUBY', @server.url)
      require "guildhall/avro"
      Warning[:experimental] = false
      codec = Guildhall::Avro::Confluent.new(Guildhall::SchemaRegistry.new(ARGV[0]))
      Array.new(4) { Thread.new { raise unless codec.decode("\0\0\0\0\1\x0a".b) == {"a" => 5} } }.each(&:join)
      ractors = Array.new(4) { Ractor.new(codec) { |shared| 1000.times.sum { shared.decode("\0\0\0\0\1\x0a")["a"] } } }
      codec.prepare(["\0\0\0\0\2\x0a\x02y".b])
      GC.start
      raise unless ractors.sum { it.respond_to?(:value) ? it.value : it.take } == 20_000
    RUBY
  end

  private

  def said(&)
    error = assert_raises(Guildhall::Avro::UnknownSchemaError, &)
    [error.message[/\AAvro: (.*) at byte 1\z/, 1], error.pending?]
  end
end
