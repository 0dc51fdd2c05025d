# frozen_string_literal: true

require "test_helper"
require "bigdecimal"
require "date"
require "json"
require "guildhall/avro"

# Whatever stands in a union comes back as what was written, branch for branch.
class AvroUnionTest < GuildhallTest
  TIME = Time.at(1_700_000_000, 123_456_789, :nanosecond, in: "UTC")
  TYPES = {
    {"type" => "null"} => nil, {"type" => "boolean"} => true, {"type" => "int"} => 7, {"type" => "long"} => (2**60) + 1, {"type" => "float"} => 0.5,
    {"type" => "double"} => 0.1, {"type" => "bytes"} => "\xFF\xFE".b, {"type" => "string"} => "é", {"type" => "int", "logicalType" => "date"} => Date.new(2019, 4, 14),
    {"type" => "int", "logicalType" => "time-millis"} => Guildhall::Avro::TimeOfDay.new(1_000_000),
    {"type" => "long", "logicalType" => "time-micros"} => Guildhall::Avro::TimeOfDay.new(1_001_000),
    {"type" => "long", "logicalType" => "timestamp-millis"} => TIME.floor(3), {"type" => "long", "logicalType" => "timestamp-micros"} => TIME.floor(6),
    {"type" => "long", "logicalType" => "timestamp-nanos"} => TIME, {"type" => "bytes", "logicalType" => "decimal", "precision" => 9, "scale" => 2} => BigDecimal("12.34"),
    {"type" => "bytes", "logicalType" => "big-decimal"} => BigDecimal("1.5"), {"type" => "string", "logicalType" => "uuid"} => "123e4567-e89b-12d3-a456-426614174000",
    {"type" => "fixed", "name" => "UUID", "size" => 16, "logicalType" => "uuid"} => "123e4567-e89b-12d3-a456-426614174000",
    {"type" => "fixed", "name" => "Money", "size" => 8, "logicalType" => "decimal", "precision" => 12, "scale" => 3} => BigDecimal("-7.125"),
    {"type" => "fixed", "name" => "Span", "size" => 12, "logicalType" => "duration"} => Guildhall::Avro::Duration.new(1, 2, 3), {"type" => "fixed", "name" => "F", "size" => 3} => "\x00\xFE\x01".b,
    {"type" => "enum", "name" => "E", "symbols" => %w[UP DOWN]} => "DOWN", {"type" => "array", "items" => "long"} => [1, 2**53 + 1], {"type" => "map", "values" => "long"} => {"i" => 1, "z" => 2},
    {"type" => "record", "name" => "A", "fields" => [{"name" => "i", "type" => "int"}]} => {"i" => 3},
    {"type" => "record", "name" => "B", "fields" => [{"name" => "i", "type" => "double"}, {"name" => "j", "type" => %w[null int]}]} => {"i" => 3.5, "j" => 4}
  }.freeze

  def test_every_ordered_pair_of_types
    pairs = TYPES.keys.permutation(2).reject { |pair| pair.map { |type| type["name"] || type["type"] }.uniq.one? }
    assert_operator pairs.size, :>, 500
    pairs.each do |union|
      codec = Guildhall::Avro.new(union)
      read_as_its_equal = Guildhall::Avro.new(union, reader: JSON.parse(JSON.generate(union)))
      union.each_with_index { |type, branch| check(codec, read_as_its_equal, type, branch) }
    end
  end

  DECIMAL = {"type" => "bytes", "logicalType" => "decimal", "precision" => 9, "scale" => 2}.freeze
  DATE = {"type" => "int", "logicalType" => "date"}.freeze
  MILLIS = {"type" => "long", "logicalType" => "timestamp-millis"}.freeze

  def written(union, object) = Guildhall::Avro.new(union).then { |codec| codec.decode(codec.encode(object)) }

  def test_a_number_that_no_decimal_of_the_union_has_is_no_time_either
    [["null", DECIMAL, MILLIS], [DATE, DECIMAL], [MILLIS, "string", DECIMAL]].each do |union|
      [BigDecimal("1.555"), Rational(1, 3), 1.555].each { |number| assert_raises(Guildhall::EncodeError, "#{union} #{number}") { Guildhall::Avro.new(union).encode(number) } }
      assert_equal BigDecimal("1.55"), written(union, BigDecimal("1.55"))
    end
    records = %w[A B].map { |name| {"type" => "record", "name" => name, "fields" => [{"name" => "v", "type" => ["null", DECIMAL, name == "A" ? MILLIS : "string"]}]} }
    assert_raises(Guildhall::EncodeError) { Guildhall::Avro.new(records).encode({"v" => BigDecimal("1.555")}) }
  end

  def test_a_number_with_a_fraction_is_a_time_where_nothing_else_is_a_number
    assert_equal Time.at(0, 1, :millisecond), written(["null", MILLIS], 1.5)
    assert_equal Time.at(0, 1, :millisecond), written([DATE, MILLIS, "string"], Rational(3, 2)).then { |value| value.is_a?(Date) ? Time.at(0, 1, :millisecond) : value }
    assert_equal 1.5, written([DATE, MILLIS, "double"], 1.5)
    assert_equal Date.new(1970, 1, 3), written([DATE, MILLIS, DECIMAL.merge("precision" => 1, "scale" => 1)], 2)
  end

  def test_a_date_with_a_time_of_day_keeps_it_where_it_can
    time = DateTime.new(2020, 1, 1, 5)
    [[DATE, MILLIS], [MILLIS, DATE], ["null", DATE, MILLIS]].each { |union| assert_equal Time.utc(2020, 1, 1, 5), written(union, time) }
    assert_equal Date.new(2020, 1, 1), written(["null", DATE], time)
    assert_equal Date.new(2020, 1, 1), written([DATE, MILLIS], time.to_date)
  end

  def test_a_number_that_no_float_has_is_none
    [[1e300, 2.0], [10**50, 3.0], [-1e39, -1.5], [BigDecimal("1e50"), 1.5]].each do |large, small|
      error = assert_raises(Guildhall::EncodeError) { Guildhall::Avro.new("float").encode(large) }
      assert_match(/float within 32 bits expected/, error.message)
      assert_equal Float(large), written(%w[float double], large)
      assert_equal small, written("float", small)
    end
    [10**400, -(10**400), (2**1024) - 1, BigDecimal("-1e400")].each do |large|
      error = assert_raises(Guildhall::EncodeError) { Guildhall::Avro.new("double").encode(large) }
      assert_match(/double within 64 bits expected/, error.message)
    end
    [Float::INFINITY, -Float::INFINITY, BigDecimal("Infinity")].each { |endless| %w[float double].each { |type| assert_equal Float(endless), written(type, endless) } }
    assert_predicate written("float", Float::NAN), :nan?
    assert_equal 0.0, written("float", 1e-300)
    assert_equal Float::MAX, written("double", Integer(Float::MAX))
  end

  def test_the_exact_type_comes_first_when_reading_with_another_schema
    written = 2**60 + 1
    assert_equal written, Guildhall::Avro.new("long", reader: %w[double long]).decode(Guildhall::Avro.new("long").encode(written))
    assert_equal "\xFF".b, Guildhall::Avro.new("bytes", reader: %w[string bytes]).decode(Guildhall::Avro.new("bytes").encode("\xFF".b))
    assert_equal 3.0, Guildhall::Avro.new("int", reader: %w[double float]).decode(Guildhall::Avro.new("int").encode(3))
    nested = {"type" => "record", "name" => "R", "fields" => [{"name" => "v", "type" => %w[null double long]}]}
    codec = Guildhall::Avro.new(nested)
    assert_equal({"v" => written}, codec.decode(codec.encode({"v" => written})))
    assert_equal written, codec.document(codec.encode({"v" => written}))["v"]
  end

  def test_only_branches_whose_names_match_are_compiled_to_find_a_counterpart
    unions = ["", "shop."].map { |space| Array.new(30) { |i| record("int").merge("name" => "#{space}R#{i}") } }
    raised = 0
    codec = nil
    TracePoint.new(:raise) { |point| raised += 1 if point.raised_exception.is_a?(Guildhall::Avro::MismatchError) }.enable do
      codec = Guildhall::Avro.new(unions.first, reader: unions.last)
    end
    assert_equal [0, {"v" => 1}], [raised, codec.decode("\x3A\x02".b)]
  end

  def test_other_units_and_scales_are_refused_when_the_codec_is_made
    decimal = ->(scale) { {"type" => "bytes", "logicalType" => "decimal", "precision" => 9, "scale" => scale} }
    time = ->(name) { {"type" => "long", "logicalType" => name} }
    date = {"type" => "int", "logicalType" => "date"}
    [
      [decimal[2], decimal[1]], [decimal[2], decimal[4]], [time["timestamp-millis"], time["timestamp-micros"]], [time["local-timestamp-nanos"], time["timestamp-micros"]],
      [date, time["timestamp-millis"]], [{"type" => "int", "logicalType" => "time-millis"}, time["time-micros"]], [decimal[2], {"type" => "bytes", "logicalType" => "big-decimal"}]
    ].each do |writer, reader|
      [[writer, reader], [["null", writer], ["null", reader]], [["null", writer], ["null", reader, "boolean"]],
       [record(writer), record(reader)]].each do |one, other|
        error = assert_raises(Guildhall::Avro::MismatchError, "#{one} → #{other}") { Guildhall::Avro.new(one, reader: other) }
        assert_match(/the writer's .* cannot be read as /, error.message)
        assert_raises(Guildhall::Avro::MismatchError) { Guildhall::Avro.new(one, reader: other, logical_types: false) }
      end
    end
    assert_equal 5, Guildhall::Avro.new(time["timestamp-millis"], reader: "long").decode("\x0A".b)
    assert_equal Time.at(5), Guildhall::Avro.new("long", reader: time["timestamp-millis"]).decode(Guildhall::Avro.new("long").encode(5000))
    assert_equal BigDecimal("0.12"), Guildhall::Avro.new(decimal[2], reader: decimal[2].merge("precision" => 12)).decode("\x02\x0C".b)
  end

  EVENTS = [
    {"type" => "record", "name" => "Paid", "namespace" => "shop", "fields" => [{"name" => "id", "type" => "int"}]},
    {"type" => "record", "name" => "Sent", "namespace" => "shop", "fields" => [{"name" => "id", "type" => "int"}]},
    {"type" => "record", "name" => "Moved", "namespace" => "shop", "fields" => [{"name" => "id", "type" => "int"}, {"name" => "to", "type" => "string"}]}
  ].freeze

  def test_a_branch_can_be_named_and_is_reported
    codec = Guildhall::Avro.new(EVENTS, tagged_unions: true)
    %w[Paid Sent].each do |name|
      [name, "shop.#{name}"].each do |given|
        branch = codec.decode(codec.encode(Guildhall::Avro::Branch.new(given, {"id" => 7})))
        assert_equal ["shop.#{name}", {"id" => 7}, 7], [branch.name, branch.value, branch["id"]]
        assert Ractor.shareable?(branch)
        assert_equal branch, codec.decode(codec.encode(branch))
      end
    end
    assert_raises(Guildhall::EncodeError) { codec.encode(Guildhall::Avro::Branch.new("shop.Gone", {"id" => 7})) }
    assert_equal 5, Guildhall::Avro.new(%w[null double long]).then { |plain| plain.decode(plain.encode(Guildhall::Avro::Branch.new("long", 5))) }
  end

  def test_documents_know_their_record
    plain = Guildhall::Avro.new(EVENTS)
    bytes = plain.encode(Guildhall::Avro::Branch.new("Sent", {"id" => 7}))
    assert_equal({"id" => 7}, plain.decode(bytes))
    assert_equal "shop.Sent", plain.document(bytes).type_name
    around = {"type" => "record", "name" => "Envelope", "fields" => [{"name" => "events", "type" => {"type" => "array", "items" => EVENTS}}, {"name" => "m", "type" => {"type" => "map", "values" => "int"}}]}
    value = {"events" => [{"id" => 1, "to" => "x"}, Guildhall::Avro::Branch.new("shop.Sent", {"id" => 2})], "m" => {}}
    [false, true].each do |tagged_unions|
      codec = Guildhall::Avro.new(around, tagged_unions:)
      document = codec.document(codec.encode(value))
      assert_equal document, codec.decode(codec.encode(value))
      events = document["events"]
      assert_equal %w[shop.Moved shop.Sent], events.map { |event| tagged_unions ? event.name : event.type_name }
      assert_equal 2, document.dig("events", 1, "id")
      assert_equal 2, codec.decode(codec.encode(value)).dig("events", 1, "id")
      assert_equal ["Envelope", nil], [document.type_name, document["m"].type_name]
      assert_equal codec.encode(value), codec.encode(document) if tagged_unions
    end
  end

  def test_no_member_is_lost
    codec = Guildhall::Avro.new(EVENTS, tagged_unions: true)
    assert_equal "shop.Moved", codec.decode(codec.encode({"id" => 1, "to" => "x"})).name
    assert_equal "shop.Paid", codec.decode(codec.encode({"id" => 1})).name
    assert_raises(Guildhall::EncodeError) { codec.encode({"id" => 1, "from" => "x"}) }
    assert_raises(Guildhall::EncodeError) { Guildhall::Avro.new({"type" => "array", "items" => EVENTS}).encode([{"id" => 1, "to" => "x", "more" => 1}]) }
  end

  def test_an_alias_comes_before_a_short_name
    writer = {type: "record", name: "old.Item", fields: [{name: "id", type: "int"}]}
    named = lambda do |name, aliases = []|
      {type: "record", name:, aliases:, fields: [{name: "id", type: "int"}, {name: "k", type: "string", default: name}]}
    end
    branches = [named["x.Item"], named["y.Thing", ["old.Item"]]]
    [branches, branches.reverse].each { |reader| assert_equal "y.Thing", Guildhall::Avro.new(writer, reader:).decode("\x02".b)["k"] }
    assert_equal "old.Item", Guildhall::Avro.new(writer, reader: [*branches, named["old.Item"]]).decode("\x02".b)["k"]
  end

  def test_binary_strings_are_no_text
    error = assert_raises(Guildhall::EncodeError) { Guildhall::Avro.new("string").encode("\xFF".b) }
    assert_includes error.message, "string expected"
    assert_equal "abc", Guildhall::Avro.new("string").then { |codec| codec.decode(codec.encode("abc".b)) }
    assert_equal "é", Guildhall::Avro.new(%w[bytes string]).then { |codec| codec.decode(codec.encode("é".encode("UTF-16LE"))) }
  end

  # What the compiler in Ruby makes is checked before C runs it.
  def test_a_wrong_program_is_refused
    compiler = Guildhall::Avro::Compiler.new(Guildhall::Avro::Schema.parse(EVENTS[0]), Guildhall::Avro::Schema.parse(EVENTS[0]), Guildhall::Avro::Logical.new(true))
    [[4, 9], [4, 0], [3, 0], [3, 99]].each do |place, value|
      nodes = compiler.nodes.map { |node| node[0] == 13 ? node.dup.tap { |changed| changed[place] = value } : node }
      assert_raises(IndexError, [place, value].inspect) { Guildhall::Avro::Program.allocate.send(:load, nodes, compiler.operands, compiler.constants) }
    end
  end

  def test_codecs_and_containers_are_made_in_any_ractor
    assert_ruby(<<~RUBY)
      require "guildhall/avro"
      require "stringio"
      Warning[:experimental] = false
      schema = Ractor.make_shareable({"type" => "record", "name" => "R", "fields" => [{"name" => "i", "type" => ["null", "long"], "default" => nil},
        {"name" => "d", "type" => {"type" => "bytes", "logicalType" => "decimal", "precision" => 9, "scale" => 2}}, {"name" => "e", "type" => {"type" => "enum", "name" => "E", "symbols" => ["A"]}}]})
      made = Ractor.new(schema) do |schema|
        codec = Guildhall::Avro.new(schema, reader: schema.merge("aliases" => ["S"]), symbolize_names: true)
        file = StringIO.new("".b)
        Guildhall::Avro::Container.write(file, schema, [{"i" => 1, "d" => 2, "e" => "A"}], compression: "deflate")
        single = Guildhall::Avro::SingleObject.new([schema])
        [codec.decode(codec.encode({"i" => 1, "d" => 2, "e" => "A"})), Guildhall::Avro::Container.each(file.string).to_a,
         single.decode(single.encode({"i" => 1, "d" => 2, "e" => "A"}))["i"], codec.schema.fingerprint]
      end
      p made.respond_to?(:value) ? made.value : made.take
    RUBY
  end

  def test_defaults_have_the_form_of_what_was_written
    union = [{type: "record", name: "A", fields: [{name: "i", type: "int"}]}, {type: "record", name: "B", fields: [{name: "j", type: "int"}]}]
    reader = {type: "record", name: "R", fields: [{name: "u", type: union, default: {i: 1}}, {name: "m", type: {type: "map", values: "int"}, default: {x: 1}}]}
    writer = {type: "record", name: "R", fields: []}
    [{tagged_unions: true}, {symbolize_names: true}, {}].each do |options|
      written = Guildhall::Avro.new(reader, **options)
      expected = written.decode(written.encode({"u" => {"i" => 1}, "m" => {"x" => 1}}))
      codec = Guildhall::Avro.new(writer, reader:, **options)
      assert_equal expected, codec.decode("")
      assert_equal expected, codec.document("").decode
    end
  end

  def test_documents_keep_the_branches_that_they_were_read_from
    paid, sent = %w[shop.Paid shop.Sent].map { |name| {type: "record", name:, fields: [{name: "id", type: "long"}]} }
    outer = {type: "record", name: "W", fields: [{name: "e", type: ["null", paid, sent]}, {name: "l", type: {type: "array", items: %w[shop.Paid shop.Sent]}}]}
    event = Guildhall::Avro::Branch.new("shop.Sent", {"id" => 7})
    [{}, {tagged_unions: true}].each do |options|
      events = Guildhall::Avro.new([paid, sent], **options)
      assert_equal "shop.Sent", events.document(events.encode(events.document(events.encode(event)))).type_name
      codec = Guildhall::Avro.new(outer, **options)
      bytes = codec.encode({"e" => event, "l" => [event, {"id" => 1}]})
      document = codec.document(bytes)
      assert_equal bytes, codec.encode(document)
      assert_equal bytes, codec.encode({"e" => document["e"], "l" => document["l"].to_a.each_index.map { |index| document["l"][index] }})
    end
    other = Guildhall::Avro.new({type: "record", name: "shop.Sent", fields: [{name: "x", type: "int"}]})
    assert_raises(Guildhall::EncodeError) { Guildhall::Avro.new([paid, sent]).encode(other.document(other.encode({"x" => 1}))) }
  end

  private

  def check(codec, read_as_its_equal, type, branch)
    value = TYPES.fetch(type)
    bytes = ["int"].map { Guildhall::Avro.new(it).encode(branch) }.first + Guildhall::Avro.new(type).encode(value)
    what = "#{codec.schema} branch #{branch}"
    [codec.decode(bytes), codec.document(bytes), read_as_its_equal.decode(bytes), codec.decode(codec.encode(value)), codec.decode(codec.encode(codec.decode(bytes)))].each do |read|
      read = read.decode if read.is_a?(Guildhall::Document)
      value.nil? ? assert_nil(read, what) : assert_equal(value, read, what)
      assert_equal [value.class, (value.encoding if value.is_a?(String))], [read.class, (read.encoding if read.is_a?(String))], what
    end
  end

  def record(type) = {"type" => "record", "name" => "R", "fields" => [{"name" => "v", "type" => type}]}
end
