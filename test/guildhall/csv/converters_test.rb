# frozen_string_literal: true

require "test_helper"
require "guildhall/csv"
require "bigdecimal"

class CSVConvertersTest < GuildhallTest
  def converters(given, headers: true) = Guildhall::CSV.const_get(:Converters).new(given, headers, 10_000)

  PRICE = lambda(&:to_f) # a converter has a shareable self

  TYPES = {
    integer: {"12" => 12, "-3" => -3, "0x1" => nil, "08" => 8, "1.5" => nil}, float: {"1.5" => 1.5, "1e3" => 1000.0, "x" => nil},
    decimal: {"0.1" => BigDecimal("0.1"), "a" => nil}, boolean: {"True" => true, "no" => false, "0" => false, "maybe" => nil},
    date: {"2026-02-28" => Date.new(2026, 2, 28), "2026-02-30" => nil}, time: {"2026-01-01T00:00:00Z" => Time.utc(2026), "noon" => nil}
  }.freeze

  TYPES.each do |type, cases|
    define_method(:"test_#{type}") do
      one = converters(type)
      cases.each do |text, value|
        value.nil? ? assert_raises(::ArgumentError, text) { one.convert("c", text) } : assert_equal(value, one.convert("c", text))
      end
      assert_nil one.convert("c", nil)
    end
  end

  def test_by_column_the_others_stay_texts
    some = converters({"id" => :integer, price: PRICE})
    assert_equal [1, 2.5, "3"], [some.convert("id", "1"), some.convert("price", "2.5"), some.convert("x", "3")]
    assert Ractor.shareable?(some)
  end

  def test_none
    refute_predicate converters(nil), :any?
    assert_predicate converters({}), :any?
  end

  def test_a_column_that_there_never_is
    {[{0 => :integer}, true] => "with headers, columns are names", [{"a" => :integer}, false] => "without headers, columns are indexes from 0",
     [{-1 => :integer}, false] => "indexes from 0", [{"b" => :integer}, ["a"]] => "no such column in headers",
     [{1.5 => :integer}, true] => "columns are Strings, Symbols or indexes"}.each do |(given, headers), message|
      error = assert_raises(Guildhall::ArgumentError) { converters(given, headers:) }
      assert_includes error.message, message
    end
  end

  def test_two_for_one_column
    [:id, "id".encode("UTF-16LE")].each do |name|
      message = assert_raises(Guildhall::ArgumentError) { converters({"id" => :integer, name => :float}) }.message
      assert_equal "Guildhall::CSV: converters: #{name.inspect}: the column has another converter already", message
    end
  end

  def test_an_unknown_type
    error = assert_raises(Guildhall::ArgumentError) { converters(:money) }
    assert_equal "converters are integer, float, decimal, boolean, date, time or callables, not :money", error.message
  end
end
