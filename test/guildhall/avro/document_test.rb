# frozen_string_literal: true

require "test_helper"
require "support/avro_gem"
require "support/registry_server"
require "guildhall/avro"
require "guildhall/pool"
require "objspace"

class AvroDocumentTest < GuildhallTest
  LISTS = {type: "record", name: "R", fields: [
    {name: "gone", type: {type: "array", items: {type: "map", values: "string"}}},
    {name: "lists", type: {type: "array", items: {type: "array", items: "int"}}},
    {name: "also_gone", type: {type: "record", name: "G", fields: [{name: "x", type: {type: "array", items: "int"}}]}},
    {name: "map", type: {type: "map", values: {type: "map", values: %w[null long string]}}}, {name: "last", type: %w[null string]}
  ]}.freeze
  READER = {type: "record", name: "R", fields: [
    {name: "last", type: %w[null string]}, {name: "lists", type: {type: "array", items: {type: "array", items: "double"}}},
    {name: "map", type: {type: "map", values: {type: "map", values: %w[null long string]}}},
    {name: "added", type: {type: "map", values: "int"}, default: {"a" => 1}}
  ]}.freeze
  ID = Guildhall.map { |order| order["id"] }

  def setup
    @codec = Guildhall::Avro.new(AvroSamples::ORDER)
  end

  def test_shows_what_decode_gives
    random = Random.new(7)
    100.times do
      bytes = @codec.encode(AvroSamples.order(random))
      value = @codec.decode(bytes)
      document = @codec.document(bytes)
      assert_equal value, document.to_h
      assert_operator document, :==, value
      assert_equal value.keys, document.keys
      value.each { |key, field| assert_operator document[key], :==, field, key }
      assert(document.zip(value).all? { |(key, field), (name, expected)| key == name && field == expected })
    end
  end

  def test_finds_items_of_long_arrays_and_maps
    [0, 1, 15, 16, 17, 33, 500].each do |count|
      value = {"gone" => [{"a" => "b"}] * count, "lists" => Array.new(count) { |row| Array.new(row % 40) { it } },
               "also_gone" => {"x" => [1] * count}, "map" => Array.new(count) { |row| ["k#{row}", Array.new(row % 5) { ["i#{it}", it] }.to_h] }.to_h,
               "last" => "end"}
      bytes = Guildhall::Avro.new(LISTS).encode(value)
      [Guildhall::Avro.new(LISTS), Guildhall::Avro.new(LISTS, reader: READER)].each { |codec| assert_items(codec, bytes) }
    end
  end

  def test_blocks
    blocks = ->(*sizes) { sizes.map { |size| "#{long(size)}#{"\x02\x02a\x02\x04\x00" * size}".b }.join + "\x00".b }
    codec = Guildhall::Avro.new({type: "array", items: {type: "map", values: "int"}})
    [[1, 1], [20, 20], [1, 40, 3], [16, 16, 1, 1, 100]].each do |sizes|
      bytes = blocks[*sizes].gsub("a\x02\x04", "a\x04")
      document = codec.document(bytes)
      assert_equal [sizes.sum, codec.decode(bytes)], [document.size, document.to_a]
      assert_equal([{"a" => 2}] * sizes.sum, document.size.times.map { document[it].to_h })
      assert_equal document.to_a, document.each.map(&:to_h)
    end
    assert_equal [1, 2, 3], Guildhall::Avro.new({type: "array", items: "int"}).document("\x03\x04\x02\x04\x02\x06\x00".b).to_a
  end

  def test_defaults_and_fields_that_are_left_out
    document = Guildhall::Avro.new(LISTS, reader: READER).document(Guildhall::Avro.new(LISTS).encode(
      {"gone" => [{"a" => "b"}, {}], "lists" => [[1]], "also_gone" => {"x" => [1]}, "map" => {}, "last" => nil}
    ))
    assert_equal %w[lists map last added], document.keys
    assert_equal [4, nil, nil, true, 1], [document.size, document["gone"], document["last"], document.key?("added"), document.dig("added", "a")]
    assert_equal [{"a" => 1}, 1.0], [document["added"], document.dig("lists", 0, 0)]
  end

  def test_symbols_and_patterns
    codec = Guildhall::Avro.new(AvroSamples::ORDER, symbolize_names: true)
    order = AvroSamples.order(Random.new(1)).merge("parts" => [{"sku" => "x", "inside" => nil}], "counts" => {"a" => 5})
    document = codec.document(codec.encode(order))
    assert_equal [order["id"], nil, 5, nil], [document[:id], document["id"], document[:counts]["a"], document[:counts][:a]]
    case document
    in {id: Integer => id, parts: [{sku:}], counts: {a:}} then assert_equal [order["id"], "x", 5], [id, sku, a]
    end
    assert_equal document, @codec.document(codec.encode(order)).to_h.transform_keys(&:to_sym).merge(parts: [{sku: "x", inside: nil}])
  end

  def test_the_last_of_equal_keys_counts
    codec = Guildhall::Avro.new({type: "map", values: "int"})
    [2, 100].each do |count|
      bytes = "#{long(count + 1)}#{Array.new(count) { |number| "\x06k#{format("%02d", number)}\x02" }.join}\x06k00\x04\x00".b
      assert_equal [2, 2], [codec.document(bytes)["k00"], codec.decode(bytes)["k00"]]
    end
  end

  def test_types_within_themselves
    codec = Guildhall::Avro.new({type: "record", name: "N", fields: [
      {name: "value", type: "int"}, {name: "left", type: %w[null N]}, {name: "right", type: %w[null N]}
    ]})
    leaf = {"value" => 3, "left" => nil, "right" => nil}
    document = codec.document(codec.encode({"value" => 1, "left" => {"value" => 2, "left" => leaf, "right" => nil}, "right" => leaf}))
    assert_equal [3, 3, nil], [document.dig("left", "left", "value"), document["right"]["value"], document.dig("left", "right", "value")]
  end

  def test_scalars_come_as_they_are
    {"null" => nil, "int" => 5, "string" => "größer", %w[null double] => 1.5}.each do |schema, value|
      codec = Guildhall::Avro.new(schema)
      assert_operator codec.document(codec.encode(value)), :==, value
    end
    day = Guildhall::Avro.new({type: "int", logicalType: "date"})
    assert_equal Date.new(2026, 1, 2), day.document(day.encode(Date.new(2026, 1, 2)))
  end

  def test_refuses_what_decode_refuses
    bytes = @codec.encode(AvroSamples.order(Random.new(1)).merge("parts" => [1, {"sku" => "x" * 20, "inside" => nil}]))
    [bytes[0..-12], "#{bytes}x", "", bytes.sub("x" * 20, "")].each do |wrong|
      errors = %i[decode document].map { |way| assert_raises(Guildhall::DecodeError, wrong.inspect) { @codec.public_send(way, wrong) } }
      assert_equal(*errors.map { [it.message, it.path, it.offset] })
    end
  end

  def test_what_is_no_value_of_its_logical_type
    codec = Guildhall::Avro.new({type: "record", name: "R", fields: [{name: "at", type: {type: "int", logicalType: "time-millis"}}, {name: "n", type: "int"}]})
    document = codec.document("\x01\x0a".b)
    assert_equal 5, document["n"]
    assert_equal [-1, {"at" => -1, "n" => 5}], [document["at"], document.to_h]
  end

  def test_memory_is_bounded_whatever_the_payload
    nested = (1..60).reduce("int") { |inner, _| {type: "array", items: inner} }
    deep = ->(count) { (1..60).reduce(5) { |inner, level| [inner] * (level == 60 ? count : 1) } }
    {{type: "array", items: "int"} => [1] * 50_000, {type: "array", items: {type: "array", items: "int"}} => [[1]] * 20_000,
     {type: "array", items: {type: "array", items: "null"}} => [[nil]] * 20_000, nested => deep[300],
     {type: "array", items: "null"} => [nil] * 60_000, {type: "map", values: {type: "array", items: "int"}} => Array.new(5_000) { [it.to_s, [it]] }.to_h,
     {type: "array", items: {type: "record", name: "R", fields: [{name: "n", type: "int"}]}} => [{"n" => 1}] * 20_000}.each do |schema, value|
      codec = Guildhall::Avro.new(schema)
      bytes = codec.encode(value)
      document = codec.document(bytes)
      assert_operator ObjectSpace.memsize_of(document) - 300, :<=, 4.5 * bytes.bytesize, schema.to_s[0, 80]
      assert_equal value, document.decode
    end
  end

  def test_survives_collection_and_compaction
    assert_ruby(<<~RUBY, gems: false)
      require "guildhall/avro"
      schema = {type: "record", name: "R", fields: [{name: "text", type: "string"}, {name: "day", type: {type: "int", logicalType: "date"}},
        {name: "list", type: {type: "array", items: {type: "map", values: "double"}}}]}
      codec = Guildhall::Avro.new(schema)
      value = {"text" => "t" * 50, "day" => Date.new(2026, 1, 2), "list" => [{"a" => 1.0e300, "b" => 0.5}] * 18}
      bytes = codec.encode(value)
      GC.stress = true
      document = codec.document(bytes)
      field, day, all = document.dig("list", 17, "b"), document["day"], document.to_h
      GC.stress = false
      raise unless [field, day, all] == [0.5, value["day"], value]
      documents = Array.new(2_000) { codec.document(bytes)["list"] }
      codec = nil
      GC.start
      GC.compact if GC.respond_to?(:compact)
      raise unless documents.all? { |document| document[16]["a"] == 1.0e300 }
    RUBY
  end

  def test_eight_ractors_at_once
    out = assert_ruby(<<~'RUBY')
      require "guildhall/avro"
      Warning[:experimental] = false
      codec = Guildhall::Avro.new({type: "map", values: {type: "array", items: {type: "bytes", logicalType: "decimal", precision: 9, scale: 2}}})
      bytes = codec.encode(Array.new(500) { ["key#{it}", [BigDecimal(it)] * 20] }.to_h)
      shared = codec.document(bytes)
      ractors = Array.new(8) do |number|
        Ractor.new(codec, bytes, shared, number) do |codec, payload, document, offset|
          20.times.sum do |round|
            place = (round + offset) % 500
            [document, codec.document(payload)].map { it.dig("key#{place}", 17).to_i }.uniq.then { |found| found.size == 1 ? found.first : -1_000_000 }
          end
        end
      end
      puts ractors.sum { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
    RUBY
    assert_equal 8.times.sum { |offset| 20.times.sum { |round| (round + offset) % 500 } }, out.to_i
  end

  # Decoded by its native decoder.
  def test_a_pool_gives_documents
    payloads = Array.new(40) { |id| @codec.encode(AvroSamples.order(Random.new(id)).merge("id" => id)) } << "nonsense"
    single = Guildhall::Avro::SingleObject.new([AvroSamples::ORDER])
    with_pool do |pool|
      documents = pool.results(payloads, @codec.lazy)
      assert_equal((0...40).to_a, documents.first(40).map { |document| document["id"] })
      assert_instance_of Guildhall::Avro::MapDocument, documents.first
      assert_equal "Guildhall::DecodeError", documents.last.error_class
      headed = payloads.first(40).map { |bytes| "#{Guildhall::Avro::Schema.parse(AvroSamples::ORDER).single_object_header}#{bytes}" }
      assert_equal documents.first(40), pool.map(headed, single.lazy)
      assert_match(/fingerprint/, pool.results(["\xC3\x01#{"\0" * 20}".b], single.lazy).first.message)
    end
  end

  def test_a_pool_gives_documents_of_schemas_from_a_registry
    server = RegistryServer.new
    server.add(258, AvroSamples::ORDER)
    codec = Guildhall::Avro::Confluent.new(Guildhall::SchemaRegistry.new(server.url)).lazy
    payloads = Array.new(20) { |id| "\0\0\0\1\2#{@codec.encode(AvroSamples.order(Random.new(id)).merge("id" => id))}".b }
    pipeline = codec >> ID
    with_pool do |pool|
      assert_same pipeline, pipeline.prepare(payloads)
      assert_equal (0...20).to_a, pool.map(payloads, pipeline)
      assert_equal (0...20).to_a, pool.map(payloads, codec).map { |document| document["id"] }
      assert_equal ["Guildhall::Avro::UnknownSchemaError", "Guildhall::DecodeError"],
        pool.results(["\0\0\0\1\3x".b, "#{payloads.first}x"], codec).map(&:error_class)
    end
  ensure
    server&.close
  end

  private

  def with_pool
    pool = Guildhall::Pool.new(workers: 2)
    yield pool
  ensure
    pool&.shutdown
  end

  def long(number) = Guildhall::Avro.new("long").encode(number)

  def assert_items(codec, bytes)
    value = codec.decode(bytes)
    document = codec.document(bytes)
    assert_equal value, document.to_h
    assert_operator document, :==, value
    lists = document["lists"]
    assert_equal value["lists"], lists.size.times.map { lists[it].to_a }
    assert_equal value["lists"], lists.map(&:to_a)
    value["map"].each { |key, inner| assert_equal inner, document["map"][key].to_h }
    assert_equal [value["map"].size, nil, nil], [document["map"].size, document["map"]["no"], lists[lists.size]]
  end
end
