# frozen_string_literal: true

require "test_helper"
require "guildhall/clock"

class ClockTest < GuildhallTest
  def test_never_goes_back
    times = Array.new(100) { Guildhall::Clock.now }
    assert_equal times.sort, times
    assert_kind_of Float, times.first
  end

  def test_what_is_left_is_never_less_than_the_least
    past = Guildhall::Clock.now - 10
    assert_equal 0, Guildhall::Clock.left(past)
    assert_equal 0.5, Guildhall::Clock.left(past, least: 0.5)
    assert_includes 50..60, Guildhall::Clock.left(Guildhall::Clock.now + 60)
  end

  def test_answers_in_any_ractor
    assert_kind_of Float, ractor_value(Ractor.new { Guildhall::Clock.now })
  end
end
