# frozen_string_literal: true

require "test_helper"
require "timeout"
require "guildhall/pool"
require "guildhall/schema"
require "support/number_cases"

# What a validation counts as work: everything that a value can make long. And that it can be interrupted.
class SchemaWorkTest < GuildhallTest
  Schema = Guildhall::Schema
  Busy = Module.new { def self.call(_value, _operand) = 20_000.times.sum.positive? }
  TEXT = ("x" * 100_000).freeze
  MEMBERS = (1..20_000).to_h { |i| ["k#{i}", 1] }.freeze
  ITEMS = Array.new(100_000) { |i| i }.freeze
  # What a schema asks, and of what. A tower of schemas asks it 64 times in 200 steps of its own, or without end.
  ASKED = {
    "maxLength" => [{"maxLength" => 200_000}, TEXT], "enum" => [{"enum" => [TEXT, 1]}, TEXT], "nested const" => [{"const" => [TEXT]}, [TEXT]],
    "pattern" => [{"pattern" => "x$"}, TEXT], "format" => [{"format" => "uri-reference"}, TEXT], "regex" => [{"format" => "regex"}, TEXT[..5_000]],
    "members" => [{"properties" => {"k1" => true}}, MEMBERS], "items" => [{"items" => {"type" => "integer"}}, ITEMS],
    "contains" => [{"contains" => {"type" => "integer"}, "minContains" => 100_000}, ITEMS], "uniqueItems" => [{"uniqueItems" => true}, ITEMS],
    "patternProperties" => [{"patternProperties" => {"^k" => true}}, MEMBERS],
    "unevaluatedItems" => [{"anyOf" => [true, true], "unevaluatedItems" => false, "prefixItems" => [true], "items" => true}, ITEMS],
    "unevaluatedProperties" => [{"additionalProperties" => true, "unevaluatedProperties" => false}, MEMBERS]
  }.freeze
  OTHERS = {
    "multipleOf" => [{"multipleOf" => 0.5}, 10**9_000], "big integers" => [{"minimum" => 1}, 10**9_000],
    "dependentSchemas" => [{"dependentSchemas" => {"k1" => {"minProperties" => 1}}}, MEMBERS]
  }.freeze

  def tower(bottom, levels)
    defs = (1..levels).to_h { |i| ["a#{i}", {"allOf" => [{"$ref" => "#/$defs/a#{i - 1}"}] * 2}] }
    {"$defs" => {"a0" => bottom, **defs}, "items" => {"$ref" => "#/$defs/a#{levels}"}}
  end

  ASKED.each do |name, (bottom, value)|
    define_method(:"test_#{name.tr(" ", "_")}_counts") do
      validator = Schema.new(tower(bottom, 6), work_limit: 20_000).validator
      [[value], Guildhall::JSON.document(Guildhall::JSON.encode([value]))].each do |one|
        assert_raises(Schema::LimitError) { Timeout.timeout(60) { validator.valid?(one) } }
      end
    end
  end

  {**ASKED, **OTHERS}.each do |name, (bottom, value)|
    define_method(:"test_#{name.tr(" ", "_")}_is_interrupted") do
      validator = Schema.new(tower(bottom, 60), work_limit: 10**15).validator
      [[value], Guildhall::JSON.document(Guildhall::JSON.encode([value]))].each do |one|
        assert_raises(Timeout::Error) { Timeout.timeout(0.05) { validator.valid?(one) } }
      end
    end
  end

  # Each match stays below regexp_timeout, all together do not: the time counts.
  def test_the_time_of_matches_counts
    validator = Schema.new({"items" => {"anyOf" => [{"pattern" => "^(?:(a|aa)+)\\1?b$"}, true]}}, regexp_timeout: 60, work_limit: 50_000).validator
    texts = Array.new(200) { "#{"a" * 28}!b" } # with a b, which Ruby 3.4 looks for first
    [texts, Guildhall::JSON.document(Guildhall::JSON.encode(texts))].each { |one| assert_raises(Schema::LimitError) { validator.valid?(one) } }
  end

  def test_the_time_of_callables_counts
    validator = Schema.new({"items" => {"busy" => 1}}, keywords: {"busy" => Busy}, work_limit: 50_000).validator
    assert_raises(Schema::LimitError) { validator.valid?(Array.new(10_000) { |i| i }) }
  end

  # The limit is not for values that are only large.
  def test_large_values_pass
    {{"uniqueItems" => true} => ITEMS, {"items" => {"type" => "integer"}} => ITEMS * 20, {"maxLength" => 10_000_000, "pattern" => "x"} => TEXT * 100,
     {"properties" => {"k1" => true}, "additionalProperties" => {"type" => "integer"}} => MEMBERS}.each do |schema, value|
      validator = Schema.new(schema).validator
      assert_equal [true, true], [value, Guildhall::JSON.document(Guildhall::JSON.encode(value))].map { |one| validator.valid?(one) }
    end
  end

  def test_equal_numbers_of_any_class
    unique = Schema.new({"uniqueItems" => true}).validator
    huge = BigDecimal("1e999999999")
    [[1, 1.0], [10**30, BigDecimal("1e30")], [2**80, (2**80).to_f], [BigDecimal("0.1"), BigDecimal("0.10")], [Rational(4, 2), 2], [0.0, -0.0], [huge, 1, huge],
     [-(2**63), -(2.0**63)], [[1, [2]], [1.0, [2.0]]], [{"a" => 1, "b" => 2}, {"b" => 2.0, "a" => 1}], [Float::INFINITY, Float::INFINITY], [nil, 1, nil],
     [true, false, true], [BigDecimal("-1e20"), -1e20]].each { |items| refute unique.valid?(items), items.inspect }
    [[1, 1.5], [10**30, 1e30], [BigDecimal("0.1"), BigDecimal("0.11")], [Rational(1, 3), Rational(2, 3)], [1, -1], [2**60, -(2**60)], [huge, -huge, 1],
     [[1, 2], [2, 1]], [{"a" => 1}, {"a" => 2}], [Float::NAN, Float::NAN], [0, false, nil, ""]].each { |items| assert unique.valid?(items), items.inspect }
  end

  # Wherever it stands, whatever comes before: the table grows meanwhile.
  # Their hashes would cancel each other, and all items have one.
  def test_items_that_contain_themselves_once_more_have_different_hashes
    validator = Schema.new({"uniqueItems" => true}, work_limit: 100_000).validator
    items = Array.new(3_000) { |i| [[i, [i]]] }
    [items, Guildhall::JSON.document(Guildhall::JSON.encode(items))].each { |one| assert validator.valid?(one) }
  end

  def test_repeated_items_are_found
    unique = Schema.new({"uniqueItems" => true}).validator
    [2, 9, 17, 100, 3_000].each do |size|
      [0, size / 2, size - 1].each do |place|
        items = [*0...size, place]
        [items, Guildhall::JSON.document(Guildhall::JSON.encode(items))].each { |one| refute unique.valid?(one) }
        assert unique.valid?(items[..-2])
      end
    end
  end

  def test_a_pools_deadline_ends_it
    validator = Schema.new(tower({"uniqueItems" => true}, 60), work_limit: 10**15).validator
    payload = Guildhall::JSON.encode([ITEMS])
    Guildhall::Pool.open(workers: 1) do |pool|
      assert_raises(Guildhall::TimeoutError) { pool.map([payload], Guildhall::JSON.lazy >> validator, timeout: 0.5) }
    end
  end

  def test_regexps_of_contracts_have_a_limit
    contract = Schema.contract(regexp_timeout: 0.05) { required "id", String, match: /\A(?:(a|aa)+)\1?b\z/ }
    assert_raises(Schema::LimitError) { contract.validator.valid?({"id" => "#{"a" * 60}!b"}) }
    assert contract.validator.valid?({"id" => "aab"})
  end
end
