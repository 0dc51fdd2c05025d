# frozen_string_literal: true

require "test_helper"
require "stringio"
require "guildhall/avro"
require "guildhall/json"
require "guildhall/msgpack"
require_relative "../../support/document_operations"
require_relative "../../support/json_values"

# Code written for the Hash or Array of JSON.parse gives the same with a Document of any format, or raises. What stands in
# the table of docs/documents.md is left out here and has a test of its own below.
class DocumentDifferentialTest < GuildhallTest
  # What a Document raises for, where a Hash or Array does not: Ruby looks for the class itself.
  RAISES = %i[map_lambda hash_function].freeze
  LEVELS = 6

  VALUES = [
    {}, [], {"a" => 1}, [1], [[1.5, 2.5], [3, 4]], {"a" => {"b" => [1, {"c" => nil}]}, "id" => 7, "name" => "abc"}, [nil, true, "x"],
    {"a" => [0, {"b" => "deep"}], "b" => {}, "c" => []}, [{"a" => 1}, {"a" => 2, "b" => [1]}, {"a" => 1}], [["k", 1], ["l", [2]]], [[], [[]], {}],
    {"" => "", "é" => "ü\n", "a\"b" => "</script>"}, [3, 1, 2], %w[b a c], [[2, "b"], [1, "a"], [2, "a"]], {"pt" => [10, 20], "same" => [10, 20]},
    [1, 1.0, 2**62, -1], {"lat" => 1.5, "lng" => [1, [2, [3]]]}, [[1, 2], [1, 2], [3]], [0, "a", nil, nil]
  ].freeze

  def self.schema(levels)
    scalars = %w[null boolean long double string]
    return scalars if levels.zero?

    inside = schema(levels - 1)
    [*scalars, {type: "array", items: inside}, {type: "map", values: inside}]
  end

  AVRO = Guildhall::Avro.new(schema(LEVELS))

  def test_every_reading_method = compare(DocumentOperations::READING)
  def test_everything_that_others_do = compare(DocumentOperations::USING)

  def test_minitest_takes_them_for_equal
    each_document do |document, plain|
      assert_equal plain, document
      assert_equal document, plain
      assert_includes [plain], document
    end
  end

  def test_every_method_of_hash_and_array
    each_document do |document, plain|
      missing = plain.public_methods.reject { |name| document.respond_to?(name) }
      assert_empty missing
    end
  end

  def test_nothing_changes_it
    document = Guildhall::JSON.document('{"a":[1]}')
    assert_raises(FrozenError) { document["b"] = 1 }
    assert_raises(FrozenError) { document.delete("a") }
    assert_raises(FrozenError) { document["a"] << 2 }
    assert_raises(FrozenError) { document["a"].map!(&:to_s) }
    assert_raises(NoMethodError) { document.no_such_method }
  end

  # The table of docs/documents.md, one line each.
  def test_what_differs
    document = Guildhall::JSON.document('{ "a": [1, 2], "n": 1.50 }')
    plain = document.decode
    refute Hash === document
    refute_instance_of Hash, document
    assert_empty document.values.grep(Array)
    assert_includes document.inspect, "ObjectDocument"
    assert_equal({a: [1, 2]}, document.deconstruct_keys([:a]))
    assert_raises(TypeError) { document.deconstruct_keys(5) }
    assert_equal '{ "a": [1, 2], "n": 1.50 }', document.to_json
    refute [1, 2].eql?(document["a"])
    assert document["a"].eql?([1, 2])
    assert_nil({document["a"] => 1}[[1, 2]])
    assert_predicate document, :frozen?
    assert_same document, document.dup
    assert_predicate plain, :frozen?
  end

  private

  def compare(operations)
    differences = []
    each_document do |document, plain|
      operations.each do |name, operation|
        expected = DocumentOperations.outcome(operation, plain, plain)
        actual = DocumentOperations.outcome(operation, document, plain)
        next if same?(expected, actual) || (actual.first == :raises && RAISES.include?(name))

        differences << "#{document.class} #{plain}: #{name} gives #{actual.last.inspect[0, 150]}, not #{expected.last.inspect[0, 150]}"
      end
    end
    assert_empty differences.uniq { |line| line[/: (\w+) gives/] }
  end

  # Errors are of the same class; numbers as they are, not as they compare.
  def same?(expected, actual)
    expected.eql?(actual) || expected.inspect == actual.inspect
  end

  def each_document
    values = VALUES + Array.new(60) { JSONValues.new(seed: it).any }.grep(Enumerable)
    values.each do |value|
      text = JSON.generate(value)
      plain = JSON.parse(text, freeze: true)
      yield Guildhall::JSON.document(text), plain
      yield Guildhall::MessagePack.document(Guildhall::MessagePack.encode(plain)), plain if binary?(plain, 100)
      yield AVRO.document(AVRO.encode(plain)), plain if binary?(plain, LEVELS)
    end
  end

  # Integers of 64 bits, and no more levels than the schema has.
  def binary?(value, levels)
    return levels.positive? && (value.is_a?(Hash) ? value.values : value).all? { |one| binary?(one, levels - 1) } if value.is_a?(Enumerable)

    !value.is_a?(Integer) || value.bit_length < 64
  end
end
