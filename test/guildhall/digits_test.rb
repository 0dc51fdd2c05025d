# frozen_string_literal: true

require "test_helper"
require "bigdecimal"
require "guildhall/digits"

class DigitsTest < GuildhallTest
  Digits = Guildhall.const_get(:Digits)

  def test_of_texts
    {"0" => 1, "-12.50" => 4, "1e3" => 4, "1.5e3" => 4, "1.25e1" => 3, "1e-3" => 4, "12e-1" => 2, "1E+0003" => 4, "1d2" => 3, ".5" => 2, "" => 1,
     "1_000" => 4, "0e7" => 7, "0.1e3" => 3, "1e999999999" => 1_000_000_000, "1e9999999999" => 10_000_000_000}.each do |text, digits|
      assert_equal digits, Digits.in_text(text), text
    end
    ["1e#{"9" * 100_000}", "1e-99999999999"].each { |text| assert_equal Float::INFINITY, Digits.in_text(text) }
  end

  def test_of_numbers
    {BigDecimal("1e999999999") => 1_000_000_000, BigDecimal("1e-3") => 4, BigDecimal("-12.5") => 3, BigDecimal("1200") => 4, BigDecimal("0") => 1,
     BigDecimal("NaN") => 0, BigDecimal("Infinity") => 0, 1.5 => 0, Rational(1, 7) => 1, 0 => 1}.each do |number, digits|
      assert_equal digits, Digits.of(number), number.to_s
    end
  end

  # Of an Integer no more than it has, and at most one fewer.
  def test_of_integers
    (1..600).each do |exponent|
      [(10**exponent) - 1, 10**exponent, (10**exponent) + 1, -(10**exponent)].each do |number|
        assert_includes [0, 1], number.abs.to_s.size - Digits.of(number), number.to_s
      end
    end
  end

  def test_integers_of_texts
    {"12" => 12, "-12" => -12, "9223372036854775807" => (2**63) - 1, "" => nil, "1e3" => nil, "0x1f" => nil, "9" * 21 => nil, nil => nil,
     ["1"] => nil, 12 => nil}.each do |text, number|
      number.nil? ? assert_nil(Digits.integer(text)) : assert_equal(number, Digits.integer(text))
    end
  end
end
