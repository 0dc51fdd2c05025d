# frozen_string_literal: true

require "bigdecimal"
require "test_helper"
require "support/registry_server"
require "guildhall/avro"
require "guildhall/pool"

class AvroConfluentTest < GuildhallTest
  OLD = {type: "record", name: "R", fields: [{name: "a", type: "int"}]}.freeze
  NEW = {type: "record", name: "R", fields: [{name: "a", type: "long"}, {name: "b", type: "string", default: "x"}]}.freeze

  GUID = "0f0d1f2a-3b4c-5d6e-7f80-91a2b3c4d5e6"
  Metadata = Data.define(:headers)

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
    {60 => ["the registry does not know schema 7 yet (it is asked again)", true], 0 => ["the registry has no schema 7 (is it the producer's, and of the same context?)", false]}.each do |unknown_after, expected|
      codec = Guildhall::Avro::Confluent.new(Guildhall::SchemaRegistry.new(@server.url, retries: 0, unknown_after:))
      Guildhall::Pool.open(workers: 1) do |pool|
        [codec, codec.lazy].each { |one| assert_equal expected, said { pool.results([payload], one, parallel: true)[0].raise! } }
      end
      codec.prepare([payload])
      assert_equal expected, said { codec.decode(payload) }
    end
    unprepared = Guildhall::Avro::Confluent.new(Guildhall::SchemaRegistry.new(@server.url, retries: 0))
    error = ractor_value(Ractor.new(unprepared, payload) { |codec, bytes| codec.decode(bytes) rescue $! }) # rubocop:disable Style/RescueModifier
    assert_equal ["schema 7 was not fetched before the batch was dispatched (call prepare(payloads) in the main Ractor first)", true], said { raise error }
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

  # A schema that the registry has given already needs no more of it.
  def test_workers_make_what_they_need_of_schemas_that_are_known
    @server.add(3, {type: "array", items: "R"}, references: [{name: "R", subject: "r", version: 1}])
    @server["/subjects/r/versions/1"] = [200, {id: 1, subject: "r", version: 1, schema: JSON.generate(OLD)}]
    @server.add(4, '"nothing"')
    [1, 3, 4].each { |id| @registry.schema(id) }
    codec = Guildhall::Avro::Confluent.new(@registry)
    assert_equal({"a" => 5}, ractor_value(Ractor.new(codec) { |shared| shared.decode("\0\0\0\0\1\x0a") }))
    errors = [3, 4].map { |id| ractor_value(Ractor.new(codec, id) { |shared, number| shared.decode("\0\0\0\0".b + number.chr) rescue $! }) } # rubocop:disable Style/RescueModifier
    assert_equal [Guildhall::Avro::UnknownSchemaError, Guildhall::SchemaRegistry::UnusableSchemaError], errors.map(&:class)
    assert_match(/what schema 3 refers to was not fetched before the batch was dispatched/, errors[0].message)
    assert_predicate errors[0], :pending?
  end

  # The error names the subjects that the registry lists for the schema, or the one that was asked for.
  def test_schemas_that_cannot_be_used
    @server.add(4, '"nothing"')
    @server["/schemas/ids/4/versions"] = [200, [{subject: "a-value", version: 1}, {subject: "b-value", version: 7}, {subject: "a-value", version: 2}]]
    @server.add(3, {type: "array", items: "R"}, references: [{name: "R", subject: "r", version: 1}], subject: "c-value")
    {4 => /\Athe Avro schema 4 of the subjects a-value, b-value cannot be used: Avro schema: .*nothing/,
     3 => /\Athe Avro schema 3 of the subject c-value cannot be used: .* has no version 1 of the subject r/}.each do |id, message|
      payload = "\0\0\0\0".b + id.chr
      error = assert_raises(Guildhall::SchemaRegistry::UnusableSchemaError) { @codec.decode(payload) }
      assert_match(message, error.message)
      assert_equal id, error.id
      @server.requests.clear
      assert_raises(Guildhall::SchemaRegistry::UnusableSchemaError) { @codec.prepare([payload, "\0\0\0\0\1\x0a".b]) }
      seen = ractor_value(Ractor.new(@codec.lazy, payload) { |codec, bytes| codec.call(bytes) rescue $! }) # rubocop:disable Style/RescueModifier
      assert_equal [error.class, error.message], [seen.class, seen.message]
      assert_empty @server.requests - ["GET /schemas/ids/1"], "it was tried once"
    end
    assert_equal({"a" => 5}, @codec.decode("\0\0\0\0\1\x0a".b))
    assert_equal %w[a-value b-value], assert_raises(Guildhall::SchemaRegistry::UnusableSchemaError) { @codec.decode("\0\0\0\0\4x".b) }.subjects
  end

  def test_a_schema_that_could_not_be_used_is_tried_again_later
    @server.add(3, {type: "array", items: "R"}, references: [{name: "R", subject: "r", version: 1}])
    assert_raises(Guildhall::SchemaRegistry::UnusableSchemaError) { @codec.decode("\0\0\0\0\3\0".b) }
    @server["/subjects/r/versions/1"] = [200, {id: 1, subject: "r", version: 1, schema: JSON.generate(OLD)}]
    assert_raises(Guildhall::SchemaRegistry::UnusableSchemaError) { @codec.decode("\0\0\0\0\3\0".b) }
    @codec.instance_variable_get(:@unusable).update(3) { |known| known.with(try_at: Guildhall::Clock.now) }
    assert_equal [], @codec.decode("\0\0\0\0\3\0".b)
  end

  # The writer's schema is a good one.
  def test_a_schema_that_the_reader_cannot_read_is_no_unusable_one
    codec = Guildhall::Avro::Confluent.new(@registry, reader: '"int"')
    assert_raises(Guildhall::Avro::MismatchError) { codec.decode("\0\0\0\0\1\x0a".b) }
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

  def test_a_subject_of_another_type_is_refused_when_the_codec_is_made
    @server["/subjects/s/versions/latest"] = [200, {id: 9, subject: "s", version: 1, schemaType: "JSON", schema: "{}"}]
    error = assert_raises(Guildhall::ArgumentError) { Guildhall::Avro::Confluent.new(@registry, subject: "s") }
    assert_equal "Guildhall::Avro::Confluent: schema 9 of the subject s is of type JSON, not AVRO: name another subject, or use Guildhall::JSON::Confluent", error.message
  end

  # The serializers for Java, Python, Go, C# and Node write these bytes as they are, whatever the schema says of them besides.
  RAW = ["", "a", "\xFF\xD8\xFF\xE0", "\x06abc", "x" * 200, "\x80" * 20_000].map { it.b.freeze }.freeze
  BYTES = ['"bytes"', '{"type":"bytes"}', '{"type":"bytes","connect.name":"x"}', '{"type":{"type":"bytes","connect.version":1}}'].freeze

  def test_a_schema_of_bytes_is_raw
    BYTES.each_with_index do |schema, index|
      @server.add(10 + index, schema)
      @server["/subjects/b#{index}/versions/latest"] = [200, {id: 10 + index, schema:, guid: GUID}]
      codec = Guildhall::Avro::Confluent.new(@registry, subject: "b#{index}")
      RAW.each do |raw|
        bytes = ["\0", [10 + index].pack("N"), raw].join.b
        [codec, codec.lazy].each do |one|
          assert_equal raw, one.decode(bytes), schema
          assert_equal [Encoding::BINARY, true], [one.decode(bytes).encoding, Ractor.shareable?(one.decode(bytes))]
          assert_equal [raw], one.decode_batch([bytes])
        end
        assert_equal raw, codec.document(bytes)
        assert_equal bytes, codec.encode(raw)
      end
    end
  end

  def test_raw_bytes_in_workers
    @server.add(10, '"bytes"')
    payloads = RAW.flat_map { |raw| ["\0\0\0\0\x0a".b + raw, "\0\0\0\0\1\x0a".b] }.each(&:freeze)
    Guildhall::Pool.open(workers: 1) do |pool|
      [@codec, @codec.lazy, @codec.lazy >> Guildhall.map(Same)].each do |task|
        assert_equal RAW, pool.results(payloads, task, parallel: true).grep(String)
      end
    end
  end

  module Same
    def self.call(value) = value
  end

  def test_raw_bytes_that_mean_something
    @server.add(10, '{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}')
    @server.add(11, '"bytes"')
    assert_equal BigDecimal("-1.23"), @codec.decode("\0\0\0\0\x0a\x85".b)
    assert_equal "abc", Guildhall::Avro::Confluent.new(@registry, reader: '"string"').decode("\0\0\0\0\x0babc".b).then { |text| text.encoding == Encoding::UTF_8 ? text : flunk }
    assert_equal "abc", Guildhall::Avro::Confluent.new(@registry, reader: %w[null bytes]).decode("\0\0\0\0\x0babc".b)
    error = assert_raises(Guildhall::DecodeError) { Guildhall::Avro::Confluent.new(@registry, reader: '"string"', allow_invalid_utf8: false).decode("\0\0\0\0\x0bab\xFF".b) }
    assert_equal [8, "a string is not valid UTF-8"], [error.offset, error.reason]
    assert_raises(Guildhall::DecodeError) { Guildhall::Avro::Confluent.new(@registry, max_bytes: 10).decode("\0\0\0\0\x0b#{"a" * 20}".b) }
  end

  def test_raw_bytes_with_the_schema_in_a_header
    answer = {id: 10, schema: '"bytes"', guid: GUID}
    @server["/subjects/b/versions/latest"] = @server["/schemas/guids/#{GUID}"] = [200, answer]
    @server.add(10, '"bytes"')
    codec = Guildhall::Avro::Confluent.new(@registry, subject: "b", schema_id: :headers)
    assert_equal "\x06abc".b, codec.encode("\x06abc".b)
    assert_equal "\x06abc".b, codec.decode("\x06abc".b, Metadata.new(codec.headers))
    assert_equal "\x06abc".b, codec.lazy.decode("\x06abc".b, Metadata.new(codec.headers))
  end

  # Only where the whole value is bytes.
  def test_bytes_within_other_types_have_their_length
    @server.add(10, '["null","bytes"]')
    @server.add(11, '{"type":"array","items":"bytes"}')
    @server.add(12, '"string"')
    assert_equal "abc", @codec.decode("\0\0\0\0\x0a\x02\x06abc".b)
    assert_equal ["abc"], @codec.decode("\0\0\0\0\x0b\x02\x06abc\0".b)
    assert_equal "abc", @codec.decode("\0\0\0\0\x0c\x06abc".b)
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
