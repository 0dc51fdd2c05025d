# frozen_string_literal: true

require "test_helper"
require "bigdecimal"
require "guildhall/columns"
require_relative "../support/json_values"
require_relative "../support/webhooks"

class ColumnsTest < GuildhallTest
  Columns = Guildhall::Columns
  JSON = Guildhall::JSON
  ORDER = '{"id":7,"customer":{"email":"a@b","na.me":"A","tags":["x",{"y":[1,2]}]},"total":1.5,"none":null,"$odd":true,"items":[{"n":1},{"n":2}]}'
  ROWS = {
    "id" => 7, "customer.email" => "a@b", ["customer", "na.me"] => "A", "total" => 1.5, "none" => nil, "missing" => nil, "id.x" => nil,
    "customer.email.x" => nil, "items.n" => nil, "customer.tags" => ["x", {"y" => [1, 2]}], ["customer", "tags", 1, "y", -1] => 2,
    ["customer", "tags", 2] => nil, ["customer", "tags", -3] => nil, ["customer", 0] => nil, ["$odd"] => true, "$.items[1].n" => 2,
    "$['customer']['na.me']" => "A", "$.items[-1]" => {"n" => 2}, "$.items[*].n" => [1, 2], "$..y" => [[1, 2]], "$.none" => nil, "$.no" => nil,
    "$" => JSON.decode(ORDER)
  }.freeze

  LAST_LINE = Guildhall.map { |text| text.lines.last.chomp.split(",") }

  def test_what_lies_at_paths
    ROWS.each do |path, value|
      columns = Columns.new(path)
      [JSON.decode(ORDER), JSON.document(ORDER)].each { |payload| assert_equal [value], [columns.row(payload)], path.inspect }
      assert_equal [value], [columns.decode(JSON.lazy, ORDER)], path.inspect
      assert Ractor.shareable?(columns.decode(JSON.lazy, ORDER))
    end
  end

  def test_rows
    assert_equal [7, "a@b"], Columns.new("id", "customer.email").decode(JSON.lazy, ORDER)
    named = Columns.new(id: "id", email: "customer.email")
    [named.decode(JSON.lazy, ORDER), named.row(JSON.document(ORDER)), named.row(JSON.decode(ORDER))].each do |row|
      assert_equal({id: 7, email: "a@b"}, row)
    end
    assert_equal({id: 7}, Columns.new(id: "id").decode(JSON.lazy, ORDER))
    wide = Columns.new(**Array.new(40) { |i| [:"c#{i}", "id"] }.to_h)
    3.times { assert_equal wide.row(JSON.decode(ORDER)), wide.decode(JSON.lazy, ORDER) }
    assert_equal [7, [:at, "h"]], Columns.new("id", :offset, [:headers, "h"]).row(JSON.decode(ORDER)) { |column| column == :offset ? :at : column }
      .then { |id, *rest| [id, rest] }
  end

  def test_frozen_and_shareable
    columns = Columns.new("id", [+"a", 0], x = JSON::Path.new("$..b"))
    assert Ractor.shareable?(columns)
    assert_predicate x, :frozen?
    reading = Ractor.new(columns, ORDER.dup.freeze) { |c, text| c.decode(Guildhall::JSON.lazy, text) }
    assert_equal [7, nil, []], ractor_value(reading)
    assert_raises(FrozenError) { columns.send(:configure, nil, []) }
    assert_raises(LocalJumpError) { Columns.new("id", :offset).decode(JSON.lazy, ORDER) } # bytes have none
    assert_raises(TypeError) { Columns.allocate.send(:decoded, JSON.lazy, ORDER) }
  end

  REFUSED = [
    [], [""], ["a..b"], [".a"], [[]], [["a", nil]], [["a", 1.5]], [["a", 1 << 62]], [:nothing], [5], [nil], ["$["], [[:headers]], [%i[headers a]],
    ["\xff"], ["a".encode("UTF-16LE").b.force_encoding("EUC-JP") + "\xff".b.force_encoding("EUC-JP")]
  ].freeze

  def test_what_is_no_path
    REFUSED.each { |paths| assert_raises(Guildhall::ArgumentError, paths.inspect) { Columns.new(*paths) } }
    assert_raises(Guildhall::ArgumentError) { Columns.new("a", b: "b") }
    assert_match(/\$odd|\[/, assert_raises(Guildhall::ArgumentError) { Columns.new("a..b") }.message)
  end

  def test_paths_of_other_encodings_and_keys_of_all_kinds
    text = '{"gr\u00f6\u00dfe":1,"\ud83d\ude00":2,"":3,"a":{"":4}}'
    columns = Columns.new("größe".encode("ISO-8859-1"), "😀", [""], ["a", ""])
    assert_equal [1, 2, 3, 4], columns.decode(JSON.lazy, text)
    assert_equal [1, 2, 3, 4], columns.row(JSON.decode(text))
  end

  def test_symbol_keys
    symbols = JSON.new(symbolize_names: true)
    columns = Columns.new("id", "customer.email", "$.items[0].n")
    assert_equal [7, "a@b", 1], columns.decode(symbols.lazy, ORDER)
    assert_equal [7, "a@b", 1], columns.row(symbols.decode(ORDER))
  end

  def test_odd_texts
    duplicates = JSON.new(allow_duplicate_key: true)
    assert_equal [2, 4], Columns.new("a", "b.c").decode(duplicates.lazy, '{"a":1,"b":{"c":3},"a":2,"b":{"c":4}}')
    assert_raises(JSON::ParseError) { Columns.new("a").decode(JSON.lazy, '{"a":1,"a":2}') }
    assert_raises(JSON::ParseError) { Columns.new("a").decode(JSON.lazy, '{"a":1,"b":"\xff"}') }
    invalid = Columns.new("b").decode(JSON.new(allow_invalid_utf8: true).lazy, "{\"b\":\"\xff\"}")
    refute_predicate invalid, :valid_encoding?
    assert_equal [nil, 5, "x", nil, []], ["null", "5", '"x"', "false", "[]"].zip(["a", "$", "$", "a", "$"]).map { |text, path| Columns.new(path).decode(JSON.lazy, text) }
    assert_equal 10**200, Columns.new("n").decode(JSON.lazy, %({"n":1#{"0" * 200}}))
    decimal = JSON.new(decimal_class: BigDecimal)
    assert_equal BigDecimal("1.50"), Columns.new("n").decode(decimal.lazy, '{"n":1.50}')
    deep = JSON.new(max_nesting: 2000)
    assert_equal 1, Columns.new(["a"] * 1500).decode(deep.lazy, "#{'{"a":' * 1500}1#{"}" * 1500}")
    assert_equal "é", Columns.new("a").decode(JSON.lazy, '{"a":"é"}'.encode("UTF-16LE"))
    assert_equal "é", Columns.new("a").decode(JSON.lazy, +'{"a":"é"}')
  end

  # Of large maps indexes of keys are made, and given back.
  def test_large_containers
    large = Array.new(500) { |i| ["key#{i}", [i] * (i + 1)] }.to_h
    text = JSON.encode(large)
    columns = Columns.new(*Array.new(100) { |i| i.even? ? "key#{i * 5}" : ["key499", i] })
    3.times { assert_equal columns.row(large), columns.decode(JSON.lazy, text) }
    packed = Guildhall::MessagePack.encode(large)
    3.times { assert_equal columns.row(large), columns.decode(Guildhall::MessagePack.lazy, packed) }
  end

  # Not a branch of an Avro union.
  Digging = Data.define(:id, :customer) do
    def dig(*) = to_h.dig(*)
  end

  def test_objects_that_are_read_like_hashes
    point = Struct.new(:id, :customer)
    columns = Columns.new("id", "customer.email")
    assert_equal [1, "e"], columns.row(point.new(1, JSON.document('{"email":"e"}')))
    assert_equal [1, "e"], columns.row({id: 1, customer: {"email" => "e"}})
    assert_equal [1, "e"], columns.row(Digging.new(1, {"email" => "e"}))
    assert_equal [nil, nil], columns.row("text")
    assert_raises(TypeError) { columns.row(Object.new) }
    hash = Hash.new { flunk("no default is asked for") }
    assert_equal [nil, nil], columns.row(hash)
  end

  # Every path that is in a document, and some that are not, in all formats.
  def test_every_path_of_many_documents
    values = JSONValues.new(seed: 20_261_127)
    documents = Array.new(150) { {"root" => values.any, "l" => [values.any, values.any]} } + Webhooks.texts.first(25).map { |text| JSON.decode(text) }
    documents.each do |document|
      paths = paths_of(document).first(400)
      paths += paths.first(20).map { |path| [*path, "nothing"] }
      columns = Columns.new(*paths)
      text = JSON.encode(document)
      plain = JSON.decode(text)
      expected = paths.map { |path| Columns.dig(plain, path) }
      paths.zip(expected).each { |path, value| assert_equal [plain_dig(plain, path)], [value] }
      same(expected, columns, JSON, text, paths)
      symbols = JSON.new(symbolize_names: true)
      same(expected.map { |value| symbols.decode(JSON.encode(value)) }, columns, symbols, text, paths)
      next unless packable?(plain)

      same(expected, columns, Guildhall::MessagePack, Guildhall::MessagePack.encode(plain), paths)
    end
  end

  SCHEMA = {type: "record", name: "o", fields: [
    {name: "id", type: "long"}, {name: "who", type: ["null", {type: "record", name: "p", fields: [{name: "mail", type: "string"}, {name: "n", type: %w[null int]}]},
                                                     {type: "record", name: "q", fields: [{name: "mail", type: "bytes"}]}]},
    {name: "tags", type: {type: "array", items: "string"}}, {name: "more", type: {type: "map", values: %w[null double]}}
  ]}.freeze

  def test_avro
    writer = Guildhall::Avro.new(SCHEMA)
    reader = SCHEMA.merge(fields: SCHEMA[:fields] + [{name: "late", type: {type: "record", name: "l", fields: [{name: "x", type: "int"}]}, default: {"x" => 9}}])
    paths = ["id", "who", "who.mail", "who.n", "tags", ["tags", 1], ["tags", 5], "more.a", "more.none", "late", "late.x", "late.x.y", "$", "$.tags[-1]"]
    columns = Columns.new(*paths)
    records = [{"id" => 1, "who" => nil, "tags" => [], "more" => {}},
               {"id" => 2, "who" => {"mail" => "é@x", "n" => 3}, "tags" => %w[a b c], "more" => {"a" => 1.5, "b" => nil}},
               {"id" => 3, "who" => Guildhall::Avro::Branch.new("q", {"mail" => "\xff".b}), "tags" => %w[z], "more" => Array.new(60) { |i| ["k#{i}", i.to_f] }.to_h.merge("a" => 2.0)}]
    [writer, Guildhall::Avro.new(SCHEMA, reader:), Guildhall::Avro.new(SCHEMA, tagged_unions: true)].each do |codec|
      records.each do |record|
        bytes = writer.encode(record).freeze
        expected = columns.row(codec.decode(bytes))
        assert_equal expected, columns.decode(codec.lazy, bytes)
        assert_equal expected, columns.row(codec.document(bytes))
      end
    end
  end

  # A Document among them would keep the payload.
  def test_branches_of_unions_have_plain_values
    codec = Guildhall::Avro.new({type: "record", name: "o", fields: [{name: "w", type: {type: "array", items: ["null", {type: "record", name: "p", fields: [{name: "x", type: "int"}]}]}}]},
      tagged_unions: true)
    bytes = codec.encode({"w" => [{"x" => 1}, nil]}).freeze
    columns = Columns.new("$.w[*]", "w", ["w", 0])
    branch = Guildhall::Avro::Branch.new("p", {"x" => 1})
    [columns.decode(codec.lazy, bytes), columns.row(codec.document(bytes)), columns.row({"w" => codec.document(bytes)["w"].to_a}), columns.row(codec.decode(bytes))].each do |row|
      assert_equal [[branch, nil], [branch, nil], branch], row
      assert_instance_of Hash, row.first.first.value
      assert_instance_of Hash, row.last.value
    end
  end

  def test_copies_are_itself
    columns = Columns.new("id")
    assert_equal [columns, columns], [columns.dup, columns.clone]
    assert_equal 7, columns.dup.decode(JSON.lazy, ORDER)
  end

  def test_the_pool
    pool = Guildhall::Pool.new(workers: 2)
    payloads = Array.new(500) { |i| %({"id":#{i},"customer":{"email":"e#{i}"}}) }
    expected = Array.new(500) { |i| [i, "e#{i}"] }
    assert_equal expected, pool.pluck(payloads, JSON, "id", "customer.email")
    assert_equal expected, pool.pluck(payloads, JSON, "id", "customer.email", parallel: true)
    assert_equal (0...500).to_a, pool.pluck(payloads, JSON.lazy, "id")
    assert_equal({id: 3}, pool.pluck(payloads, JSON, Columns.new(id: "id"), parallel: true)[3])
    assert_equal expected, pool.pluck(payloads.map { |text| Guildhall::MessagePack.encode(JSON.decode(text)) }, Guildhall::MessagePack, "id", "customer.email")
    assert_equal [%w[1 2]], pool.pluck(["a,b\n1,2\n"], LAST_LINE, "$")
    assert Ractor.shareable?(pool.pluck(payloads, JSON, "$..email", parallel: true))
    error = assert_raises(JSON::ParseError) { pool.pluck([payloads[0], "{"], JSON, "id") }
    assert_match(/end of/, error.message)
    assert_raises(Guildhall::ArgumentError) { pool.pluck(payloads, JSON, :offset) }
  ensure
    pool&.shutdown(timeout: 5)
  end

  STRESS = <<~'RUBY'
    require "guildhall"
    columns = Guildhall::Columns.new(id: "id", mail: "c.mail", all: "c", any: "$..mail", more: "k40")
    texts = Array.new(6) { |i| %({"id":#{i},"c":{"mail":"größe#{"x" * i}\\n","l":[1.25,{"m":#{10**30}}]},#{Array.new(50) { |k| %("k#{k}":[#{k}]) }.join(",")}}).freeze }
    expected = texts.map { |one| columns.row(Guildhall::JSON.decode(one)) }
    GC.stress = true
    made = [columns.decode(Guildhall::JSON.lazy, texts.last)]
    GC.stress = false
    GC.verify_compaction_references(toward: :empty, expand_heap: true) if GC.respond_to?(:verify_compaction_references)
    abort("under stress") unless made == [expected.last]
    GC.auto_compact = true if GC.respond_to?(:auto_compact=)
    20.times { made = texts.map { |one| columns.decode(Guildhall::JSON.lazy, one).tap { GC.start } } }
    abort("compacting") unless made == expected
  RUBY

  def test_garbage_collection_whenever_it_can_be = assert_ruby(STRESS)

  private

  def same(expected, columns, codec, bytes, paths)
    rows = [columns.decode(codec.lazy, bytes), columns.row(codec.document(bytes)), columns.row(codec.decode(bytes))]
    rows.each { |row| assert_equal expected, paths.size == 1 ? [row] : row }
  end

  # @return [Array<Array>] of all values, not of the root
  def paths_of(value, path = [])
    case value
    when Hash then value.flat_map { |key, inner| [[*path, key], *paths_of(inner, [*path, key])] }
    when Array then value.each_with_index.flat_map { |inner, index| [[*path, index], *paths_of(inner, [*path, index])] }
    else []
    end
  end

  def plain_dig(value, path)
    path.inject(value) { |inside, step| inside.is_a?(Hash) || (inside.is_a?(Array) && step.is_a?(Integer)) ? inside[step] : nil }
  end

  def packable?(value)
    Guildhall::MessagePack.encode(value) && true
  rescue Guildhall::EncodeError
    false
  end
end
