# frozen_string_literal: true

require "test_helper"
require "timeout"
require "support/avro_gem"
require "guildhall/avro"

# Writer's and reader's schema, beside the gem.
class AvroCompilerTest < GuildhallTest
  def test_promotions
    {%w[int long] => 5, %w[int float] => 5.0, %w[int double] => 5.0, %w[long float] => 5.0, %w[long double] => 5.0,
     %w[float double] => 1.5, %w[string bytes] => "a".b, %w[bytes string] => "a"}.each do |(writer, reader), value|
      assert_same_as_gem(writer, reader, value.is_a?(Float) && writer != "float" ? value.to_i : value)
      decoded = Guildhall::Avro.new(writer,
        reader:).decode(Guildhall::Avro.new(writer).encode(value.is_a?(Float) && writer != "float" ? value.to_i : value))
      assert_equal [value, value.class], [decoded, decoded.class]
    end
  end

  def test_fields_that_came_went_and_were_renamed
    writer = record([{name: "gone", type: {type: "array", items: {type: "map", values: %w[null string]}}}, {name: "old", type: "int"},
                     {name: "same", type: "string"}])
    reader = record([{name: "same", type: "string"}, {name: "new", aliases: ["old"], type: "long"},
                     {name: "added", type: %w[null string], default: nil},
                     {name: "list", type: {type: "array", items: "int"}, default: [1, 2]}, {name: "raw", type: "bytes", default: "\u00ff"}])
    value = {"gone" => [{"a" => nil, "b" => "c"}, {}], "old" => 7, "same" => "s"}
    decoded = Guildhall::Avro.new(writer, reader:).decode(Guildhall::Avro.new(writer).encode(value))
    assert_equal({"new" => 7, "same" => "s", "added" => nil, "list" => [1, 2], "raw" => "\xFF".b}, decoded)
    assert Ractor.shareable?(decoded)
  end

  def test_records_with_defaults_of_every_type
    fields = {"null" => nil, "boolean" => true, "int" => 1, "long" => 2, "float" => 1.5, "double" => 2, "string" => "s",
              {type: "map", values: "int"} => {"a" => 1}, {type: "enum", name: "E", symbols: %w[A B]} => "B",
              {type: "fixed", name: "F", size: 2} => "ab",
              {type: "record", name: "I", fields: [{name: "x", type: "int", default: 3}, {name: "y", type: "int"}]} => {"y" => 4},
              %w[int null] => 5, {type: "int", logicalType: "date"} => 10}
    reader = record(fields.each_with_index.map { |(type, default), index| {name: "f#{index}", type:, default:} })
    writer = record([])
    codec = Guildhall::Avro.new(writer, reader:)
    decoded = codec.decode("".b)
    assert_equal [nil, true, 1, 2, 1.5, 2.0, "s", {"a" => 1}, "B", "ab", {"x" => 3, "y" => 4}, 5, Date.new(1970, 1, 11)], decoded.values
    assert Ractor.shareable?(decoded)
  end

  def test_unions_on_both_sides
    assert_same_as_gem(%w[null int string], %w[string null long], 5, "a", nil)
    assert_same_as_gem("int", %w[null long], 5)
    assert_same_as_gem(%w[null int], "long", 5)
    assert_same_as_gem("int", ["null", {type: "array", items: "int"}, "double"], 5)
  end

  def test_a_branch_that_the_reader_lacks_fails_when_it_comes
    codec = Guildhall::Avro.new(%w[int string], reader: "long")
    assert_equal 5, codec.decode("\x00\x0a".b)
    error = assert_raises(Guildhall::DecodeError) { codec.decode("\x02\x02a".b) }
    assert_match(/the writer's string cannot be read as long/, error.message)
  end

  def test_enums_with_other_symbols
    writer = {type: "enum", name: "E", symbols: %w[A B C]}
    assert_equal "A", Guildhall::Avro.new(writer, reader: {type: "enum", name: "E", symbols: %w[C A], default: "C"}).decode("\x00".b)
    assert_equal "C", Guildhall::Avro.new(writer, reader: {type: "enum", name: "E", symbols: %w[C A], default: "C"}).decode("\x02".b)
    error = assert_raises(Guildhall::DecodeError) { Guildhall::Avro.new(writer, reader: {type: "enum", name: "E", symbols: %w[C A]}).decode("\x02".b) }
    assert_match(/does not have this symbol/, error.message)
  end

  def test_schemas_that_do_not_match
    [%w[int string], %w[string int], %w[long int], [{type: "array", items: "int"}, {type: "array", items: "string"}],
     [{type: "fixed", name: "F", size: 1}, {type: "fixed", name: "F", size: 2}], [record([]), record([{name: "a", type: "int"}])],
     [record([], "A"), record([], "B")],
     [record([{name: "a", type: "int"}]), record([{name: "a", type: "string"}])], [%w[int long], "string"]].each do |writer, reader|
      assert_raises(Guildhall::Avro::MismatchError, "#{writer} #{reader}") { Guildhall::Avro.new(writer, reader:) }
    end
  end

  def test_recursive_types_that_changed
    old = record([{name: "v", type: "int"}, {name: "x", type: "string"}, {name: "next", type: %w[null R]}])
    new = record([{name: "next", type: %w[null R]}, {name: "v", type: "double"}, {name: "n", type: "int", default: 1}])
    value = {"v" => 1, "x" => "a", "next" => {"v" => 2, "x" => "b", "next" => nil}}
    assert_equal({"v" => 1.0, "next" => {"v" => 2.0, "next" => nil, "n" => 1}, "n" => 1},
      Guildhall::Avro.new(old, reader: new).decode(Guildhall::Avro.new(old).encode(value)))
    assert_same_as_gem(old, new, value)
  end

  def test_names_by_alias_and_without_namespace
    [record([], "b.R").merge(aliases: ["a.Old"]), record([], "other.Old")].each do |reader|
      assert_equal({}, Guildhall::Avro.new(record([], "a.Old"), reader:).decode("".b))
    end
  end

  # Each level of the reader's has two branches that could be it and are not, because of what is at the bottom.
  def test_what_does_not_match_is_tried_once
    depth = 22 # of which each level doubled the work
    writer = (0...depth).reverse_each.reduce("int") { |inner, i| {type: "record", name: "n#{i}.R#{i}", fields: [{name: "f", type: inner}]} }
    reader = (0...depth).reverse_each.reduce("string") do |inner, i|
      again = i + 1 < depth ? ["null", "x#{i + 1}.R#{i + 1}", "y#{i + 1}.R#{i + 1}"] : "string"
      ["null", {type: "record", name: "x#{i}.R#{i}", fields: [{name: "f", type: inner}]}, {type: "record", name: "y#{i}.R#{i}", fields: [{name: "f", type: again}]}]
    end
    Timeout.timeout(60) { assert_raises(Guildhall::Avro::MismatchError) { Guildhall::Avro.new(writer, reader:) } }
  end

  private

  def record(fields, name = "R") = {type: "record", name:, fields:}

  def assert_same_as_gem(writer, reader, *values)
    codec = Guildhall::Avro.new(writer, reader:)
    writer, reader = [writer, reader].map { |schema| JSON.generate(schema) }
    values.each do |value|
      bytes = AvroGem.encode(writer, value)
      assert_operator AvroGem.decode(writer, bytes, reader:), :==, codec.decode(bytes)
    end
  end
end
