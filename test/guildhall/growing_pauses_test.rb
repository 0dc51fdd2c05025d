# frozen_string_literal: true

require "test_helper"
require "guildhall/growing_pauses"

class GrowingPausesTest < GuildhallTest
  def test_they_double_up_to_a_limit
    assert_equal [1.0, 2.0, 4.0, 7.0, 7.0], lengths(Guildhall::GrowingPauses.new(1.0, 7.0), 5)
    assert_equal [10, 20, 35, 35], lengths(Guildhall::GrowingPauses.new(10, 35), 4)
  end

  def test_workers_can_have_them
    assert Ractor.shareable?(Guildhall::GrowingPauses.new(1.0, 7.0))
  end

  private

  def lengths(pauses, count) = (1...count).reduce([pauses.after(nil)]) { |all, _| [*all, pauses.after(all.last)] }
end
