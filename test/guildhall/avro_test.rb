# frozen_string_literal: true

require "test_helper"
require "support/avro_gem"
require "guildhall/avro"
require "guildhall/pool"

class AvroTest < GuildhallTest
  VALUES = {
    "null" => [nil], "boolean" => [true, false], "int" => [0, 1, -1, 63, 64, -64, -65, (2**31) - 1, -2**31],
    "long" => [2**31, 2**35, -2**35, 2**62, (2**63) - 1, -2**63], "float" => [0.0, -1.5, 3], "double" => [0.1, -0.0, 1e300, 7],
    "bytes" => ["", "\xFF\x00".b, "x" * 70], "string" => ["", "größer", "x" * 70],
    {"type" => "array", "items" => "int"} => [[], [1], [1] * 1000],
    {"type" => "map", "values" => "string"} => [{}, {"a" => "b", "größer" => ""}],
    {"type" => "fixed", "name" => "F", "size" => 3} => ["abc"], {"type" => "fixed", "name" => "F", "size" => 0} => [""],
    {"type" => "enum", "name" => "E", "symbols" => %w[A B]} => %w[A B],
    %w[null int string double] => [nil, 5, "text", 1.5, 2**40], ["long", {"type" => "map", "values" => "long"}] => [5, {"a" => 1}]
  }.freeze

  def test_every_type_as_the_gem_has_it
    VALUES.each do |schema, values|
      codec = Guildhall::Avro.new(schema)
      values.each do |value|
        bytes = AvroGem.encode(JSON.generate(schema), value)
        assert_equal bytes, codec.encode(value), "#{schema} #{value.inspect}"
        decoded = codec.decode(bytes)
        assert_operator AvroGem.decode(JSON.generate(schema), bytes), :==, decoded
        assert Ractor.shareable?(decoded)
      end
    end
  end

  def test_encodings_of_texts_and_bytes
    assert_equal Encoding::UTF_8, Guildhall::Avro.new("string").decode("\x02a".b).encoding
    assert_equal Encoding::BINARY, Guildhall::Avro.new("bytes").decode("\x02a".b).encoding
    assert_equal("größer", Guildhall::Avro.new("string").then { it.decode(it.encode("größer".encode(Encoding::ISO_8859_1))) })
  end

  def test_records_within_themselves
    tree = {type: "record", name: "Node", fields: [{name: "value", type: "int"}, {name: "children", type: {type: "array", items: "Node"}}]}
    codec = Guildhall::Avro.new(tree)
    value = {"value" => 1,
             "children" => [{"value" => 2, "children" => []}, {"value" => 3, "children" => [{"value" => 4, "children" => []}]}]}
    assert_equal value, codec.decode(codec.encode(value))
    assert_equal AvroGem.encode(tree, value), codec.encode(value)
  end

  def test_blocks_with_a_size_and_several_blocks
    codec = Guildhall::Avro.new({type: "array", items: "int"})
    assert_equal [1, 2, 3], codec.decode("\x03\x04\x02\x04\x02\x06\x00".b)
    codec = Guildhall::Avro.new({type: "map", values: "int"})
    assert_equal({"a" => 2}, codec.decode("\x02\x02a\x02\x01\x06\x02a\x04\x00".b))
  end

  def test_hashes_with_symbols_are_encoded_and_decoded_by_option
    schema = {type: "record", name: "R", fields: [{name: "a", type: "int"}, {name: "m", type: {type: "map", values: "int"}}]}
    codec = Guildhall::Avro.new(schema, symbolize_names: true)
    assert_equal({a: 1, m: {"k" => 2}}, codec.decode(codec.encode({a: 1, m: {k: 2}})))
    assert_equal codec.encode({a: 1, m: {}}), codec.encode({"a" => 1, "m" => {}})
  end

  def test_the_gems_schema_objects_are_accepted
    schema = AvroGem.parse(AvroSamples::ORDER)
    order = AvroSamples.order(Random.new(1))
    assert_equal AvroGem.encode(schema, order), Guildhall::Avro.new(schema).encode(order)
    assert_equal Guildhall::Avro::Schema.parse(AvroSamples::ORDER).canonical_form, Guildhall::Avro::Schema.parse(schema).canonical_form
    codec = Guildhall::Avro.new(schema, reader: AvroGem.parse(AvroSamples::NEWER)) # renamed by a field's alias
    assert_equal "text", codec.decode(AvroGem.encode(schema, order.merge("note" => "text")))["remark"]
  end

  def test_errors_say_where
    codec = Guildhall::Avro.new(AvroSamples::ORDER)
    bytes = codec.encode(AvroSamples.order(Random.new(1)).merge("parts" => [1, {"sku" => "x" * 20, "inside" => nil}]))
    error = assert_raises(Guildhall::DecodeError) { codec.decode(bytes[0..-12]) }
    assert_equal ["Avro", "$.parts[1].sku"], [error.codec, error.path]
    error = assert_raises(Guildhall::EncodeError) { codec.encode(AvroSamples.order(Random.new(1)).merge("counts" => {"a" => "b"})) }
    assert_match(/\$\.counts\.a: long expected/, error.message)
  end

  def test_hostile_payloads
    {
      {type: "array", items: "long"} => ["\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"],
      {type: "array", items: "null"} => ["\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x00", "\x80\x80\x10\x00"],
      {type: "map", values: "null"} => ["\x80\x80\x10\x00"],
      "string" => ["\x01", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", "\x06ab"], "long" => ["\xFF" * 10, "\x80", "\x00\x00"],
      "int" => ["\x80\x80\x80\x80\x20"], %w[null int] => ["\x01", "\x04"], {type: "enum", name: "E", symbols: ["A"]} => ["\x01", "\x02"],
      {type: "fixed", name: "F", size: 5} => ["abcd"], "double" => ["1234567"], "boolean" => [""]
    }.each do |schema, payloads|
      codec = Guildhall::Avro.new(schema)
      payloads.each { |bytes| assert_raises(Guildhall::DecodeError, "#{schema} #{bytes.inspect}") { codec.decode(bytes.b) } }
    end
  end

  def test_items_without_a_byte_are_bounded
    codec = Guildhall::Avro.new({type: "array", items: "null"}, max_empty_items: 3)
    assert_equal [nil] * 3, codec.decode("\x06\x00".b)
    assert_match(/max_empty_items/, assert_raises(Guildhall::DecodeError) { codec.decode("\x08\x00".b) }.message)
    assert_raises(Guildhall::DecodeError) { codec.decode("\x04\x04\x00".b) }
  end

  # A record of nulls takes no byte either, however much is in it.
  def test_what_is_in_items_without_a_byte_counts
    pair = {type: "record", name: "Pair", fields: [{name: "a", type: "null"}, {name: "b", type: {type: "fixed", name: "None", size: 0}}]}
    both = {type: "record", name: "Both", fields: [{name: "left", type: pair}, {name: "right", type: "Pair"}]} # 1 + 2 * (1 + 2)
    filled = {type: "record", name: "Both", fields: [{name: "right", type: pair}, *Array.new(9) { |i| {name: "f#{i}", type: "int", default: i} }]}
    {[pair, pair] => 3, [both, both] => 7, [both, filled] => 16}.each do |(written, read), each|
      codecs = [each * 2, (each * 2) - 1].map { |most| Guildhall::Avro.new(list(written), reader: list(read), max_empty_items: most) }
      readers(codecs[0]).each { |reader| assert_equal 2, reader["\x04\x00".b].size }
      readers(codecs[1]).each { |reader| assert_match(/max_empty_items/, assert_raises(Guildhall::DecodeError) { reader["\x04\x00".b] }.message) }
      readers(codecs[1]).each { |reader| assert_raises(Guildhall::DecodeError) { reader["\x02\x02\x00".b] } }
    end
    writer = {type: "record", name: "R", fields: [{name: "gone", type: list(both)}]}
    skipping = Guildhall::Avro.new(writer, reader: {type: "record", name: "R", fields: []}, max_empty_items: 13)
    readers(skipping).each { |reader| assert_raises(Guildhall::DecodeError) { reader["\x04\x00".b] } }
    doubling = (1..24).reduce(pair) { |inner, i| {type: "record", name: "D#{i}", fields: [{name: "a", type: inner}, {name: "b", type: inner[:name]}]} }
    assert_raises(Guildhall::DecodeError) { Guildhall::Avro.new(list(doubling)).decode("\x02\x00".b) }
    endless = {type: "record", name: "Loop", fields: [{name: "again", type: "Loop"}]}
    assert_raises(Guildhall::DecodeError) { Guildhall::Avro.new(list(endless)).decode("\x02\x00".b) }
  end

  def test_items_with_bytes_deep_inside_are_paid_for_by_them
    deep = (1..20).reduce("int") { |inner, i| {type: "record", name: "R#{i}", fields: [{name: "a", type: inner}]} }
    codec = Guildhall::Avro.new(list(deep), max_empty_items: 0)
    readers(codec).each { |reader| assert_equal 3, reader["\x06\x02\x02\x02\x00".b].size }
  end

  def self.record(name, fields) = {type: "record", name:, fields:}

  NULLS = record("Nulls", Array.new(1_000) { |i| {name: "f#{i}", type: "null"} })
  ONE = record("One", [{name: "n", type: "int"}])
  LONG = Guildhall::Avro.new("long")
  # Each: the writer's schema, the reader's, the payload of n items, and how many fields that take no byte are in one of these.
  UNPAID = {
    "maps of records of nulls" => [{type: "map", values: NULLS}, nil, ->(n) { "#{LONG.encode(n)}#{"\0" * n}\0".b }, 1_000],
    "unions" => [{type: "array", items: ["null", NULLS]}, nil, ->(n) { "#{LONG.encode(n)}#{"\2" * n}\0".b }, 1_000],
    "records within records" => [{type: "array", items: record("R", [{name: "n", type: "int"}, {name: "nulls", type: NULLS}])}, nil,
                                 ->(n) { "#{LONG.encode(n)}#{"\2" * n}\0".b }, 1_001],
    "a chain of records" => [record("R", [{name: "next", type: %w[null R]}, *NULLS[:fields]]), nil, ->(n) { "#{"\2" * (n - 1)}\0".b }, 1_000],
    "defaults" => [{type: "array", items: ONE}, {type: "array", items: record("One", [*ONE[:fields], *Array.new(1_000) { |i| {name: "f#{i}", type: "int", default: i} }])},
                   ->(n) { "#{LONG.encode(n)}#{"\2" * n}\0".b }, 1_000],
    "nulls that the reader leaves out" => [record("R", [{name: "gone", type: {type: "map", values: NULLS}}]), record("R", []),
                                           ->(n) { "#{LONG.encode(n)}#{"\0" * n}\0".b }, 1_000]
  }.freeze

  # A byte pays for 32 of them, and 65,536 come without.
  UNPAID.each do |name, (writer, reader, payload, fields)|
    define_method(:"test_#{name.tr(" ", "_")}_cost_no_more_than_their_bytes_pay_for") do
      most = (1..100).take_while { |n| n * fields <= 65_536 + (32 * payload.call(n).bytesize) }.last
      codec = Guildhall::Avro.new(writer, reader:, max_nesting: 1_000)
      within = payload.call(most)
      beyond = payload.call(most + 1)
      assert_equal codec.decode(within), codec.document(within).decode
      readers(codec).each { |read| assert_match(/too many fields that take no byte/, assert_raises(Guildhall::DecodeError) { read[beyond] }.message) }
      lazily = assert_raises(Guildhall::DecodeError) { Guildhall::Pool.open(workers: 1) { |pool| pool.map([beyond], codec.lazy, parallel: true) } }
      assert_match(/too many fields that take no byte/, lazily.message)
      assert_raises(Guildhall::DecodeError) { Guildhall::Avro.new(writer, reader:, max_nesting: 1_000).decode(payload.call(900)) }
      readers(Guildhall::Avro.new(writer, reader:, max_nesting: 1_000, max_empty_items: 1_000_000)).each { |read| assert read[payload.call(900)] }
    end
  end

  # What a Document reads again has been paid for, wherever it is.
  def test_fields_without_a_byte_at_the_end_of_a_document
    schema = {type: "record", name: "R", fields: [{name: "text", type: "string"}, {name: "list", type: {type: "array", items: ["null", NULLS]}}]}
    codec = Guildhall::Avro.new(schema)
    value = {"text" => "x" * 5_000, "list" => [NULLS[:fields].to_h { |field| [field[:name], nil] }] * 200}
    document = codec.document(codec.encode(value))
    assert_equal value, document.to_h
    assert_equal value["list"], document["list"].to_a
  end

  def test_nesting_ends_at_the_limit
    list = {type: "record", name: "List", fields: [{name: "next", type: %w[null List]}]}
    deep = ->(depth) { ("\x02".b * (depth - 1)) + "\x00".b }
    codec = Guildhall::Avro.new(list, max_nesting: 1000)
    value = codec.decode(deep[1000])
    assert_equal deep[1000], codec.encode(value)
    assert_match(/max_nesting/, assert_raises(Guildhall::DecodeError) { codec.decode(deep[1001]) }.message)
    endless = Guildhall::Avro.new({type: "record", name: "Loop", fields: [{name: "again", type: "Loop"}]})
    assert_raises(Guildhall::DecodeError) { endless.decode("".b) }
    around = {}
    around["next"] = around
    assert_raises(Guildhall::EncodeError) { codec.encode(around) }
  end

  def test_what_does_not_fit_cannot_be_encoded
    {"null" => 1, "boolean" => 1, "int" => 2**31, "long" => 2**63, "float" => "1", "bytes" => 1, "string" => :a, %w[null int] => "a",
     {type: "fixed", name: "F", size: 2} => "abc", {type: "enum", name: "E", symbols: ["A"]} => "B", {type: "array", items: "int"} => {},
     {type: "map", values: "int"} => {1 => 2},
     {type: "record", name: "R", fields: [{name: "a", type: "int"}]} => {"b" => 1}}.each do |schema, value|
      assert_raises(Guildhall::EncodeError, schema.to_s) { Guildhall::Avro.new(schema).encode(value) }
    end
  end

  def test_unions_take_the_first_branch_that_fits_all_the_way_down
    a = {type: "record", name: "A", fields: [{name: "x", type: "int"}]}
    b = {type: "record", name: "B", fields: [{name: "x", type: "string"}]}
    [[a, b], [{type: "array", items: "int"}, b, "null"]].each do |schema|
      codec = Guildhall::Avro.new(schema)
      [{"x" => "text"}].each { |value| assert_equal AvroGem.encode(schema, value), codec.encode(value) }
    end
  end

  def test_every_wrong_option_is_named
    error = assert_raises(Guildhall::ArgumentError) { Guildhall::Avro.new("int", max_nesting: 0, nope: 1, symbolize_names: 3) }
    assert_match(/max_nesting.*nope.*symbolize_names/, error.message)
  end

  def test_survives_collection_and_compaction
    assert_ruby(<<~RUBY, gems: false)
      require "guildhall/avro"
      schema = {type: "record", name: "R", fields: [{name: "text", type: "string"}, {name: "day", type: {type: "int", logicalType: "date"}},
        {name: "list", type: {type: "array", items: {type: "map", values: "double"}}}, {name: "at", type: {type: "long", logicalType: "timestamp-nanos"}}]}
      value = {"text" => "t" * 50, "day" => Date.new(2026, 1, 2), "list" => [{"a" => 1.0e300, "b" => 0.5}] * 5, "at" => Time.at(1, 5, :nanosecond)}
      codec = Guildhall::Avro.new(schema)
      GC.stress = true
      3.times { raise unless codec.decode(codec.encode(value)) == value }
      Guildhall::Avro.new("int")
      GC.stress = false
      GC.compact if GC.respond_to?(:compact)
      raise unless Array.new(2_000) { codec.decode(codec.encode(value)) }.uniq == [value]
    RUBY
  end

  def test_eight_ractors_at_once
    out = assert_ruby(<<~RUBY)
      require "guildhall/avro"
      Warning[:experimental] = false
      codec = Guildhall::Avro.new({type: "array", items: {type: "record", name: "R", fields: [{name: "n", type: "long"}, {name: "d", type: {type: "bytes", logicalType: "decimal", precision: 9, scale: 2}},
        {name: "day", type: {type: "int", logicalType: "date"}}, {name: "u", type: ["null", "string"]}]}})
      values = Array.new(50) { {"n" => it, "d" => BigDecimal(it), "day" => Date.new(2026, 1, 1) + it, "u" => it.even? ? nil : "x" * it} }
      bytes = codec.encode(values)
      ractors = Array.new(8) do
        Ractor.new(codec, bytes) { |shared, payload| 100.times.sum { value = shared.decode(payload); shared.encode(value) == payload ? value.last["n"] : -1_000_000 } }
      end
      puts ractors.sum { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
    RUBY
    assert_equal 8 * 100 * 49, out.to_i
  end

  # Each level has two branches that look alike: 2**60 ways down to what fits in none of them, or in one. Each part is compared with each
  # branch once.
  def test_ambiguous_unions_are_decided_in_time
    inner = {type: "record", name: "B", fields: [{name: "next", type: %w[null A B]}, {name: "leaf", type: "int"}]}
    codec = Guildhall::Avro.new({type: "record", name: "A", fields: [{name: "next", type: ["null", "A", inner]}, {name: "leaf", type: "int"}]})
    nest = ->(leaf) { (1..60).reduce({"next" => nil, "leaf" => leaf}) { |inside, _| {"next" => inside, "leaf" => 1} } }
    assert_equal nest[1], codec.decode(codec.encode(nest[1]))
    assert_equal "Avro: $.next: union expected, got Hash", assert_raises(Guildhall::EncodeError) { codec.encode(nest["none"]) }.message

    text = {type: "record", name: "B", fields: [{name: "next", type: %w[null A B]}, {name: "leaf", type: %w[int string]}]}
    either = Guildhall::Avro.new({type: "record", name: "A", fields: [{name: "next", type: ["null", "A", text]}, {name: "leaf", type: "int"}]}, tagged_unions: true)
    branch = either.decode(either.encode(nest["only B has texts"]))["next"]
    59.times { branch = branch.value["next"] }
    assert_equal ["B", "only B has texts"], [branch.name, branch.value["leaf"]]
  end

  private

  def list(items) = {type: "array", items:}
  def readers(codec) = [codec.method(:decode), codec.method(:document)]
end
