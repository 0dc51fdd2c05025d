# frozen_string_literal: true

require "test_helper"
require "guildhall/schema"

class SchemaNumbersTest < GuildhallTest
  def multiple?(number, divisor) = Guildhall::Schema.const_get(:Numbers).multiple?(number, divisor)

  def test_decimals_are_what_was_written
    assert multiple?(0.3, 0.1)
    assert multiple?(19.99, 0.01)
    assert multiple?(1e308, 0.5)
    refute multiple?(0.35, 0.1)
  end

  def test_integers_of_any_size
    assert multiple?(10**40, 10)
    refute multiple?((10**40) + 1, 10)
  end

  def test_what_is_no_number_is_a_multiple_of_nothing
    [Float::NAN, Float::INFINITY, -Float::INFINITY].each { |number| refute multiple?(number, 1) }
  end
end
