# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

class PoolProgressTest < GuildhallTest
  Progress = Guildhall::Pool::Progress

  def test_nothing_is_wanted
    assert_nil Progress.of(nil, 3)
    assert_nil Progress.of(false, 3)
  end

  def test_a_callable_gets_what_is_done_and_the_total
    seen = []
    progress = Progress.of(->(done, total) { seen << [done, total] }, 5)
    progress.add
    progress.add(2)
    progress.reach(5)
    progress.finish
    assert_equal [[1, 5], [3, 5], [5, 5]], seen
  end

  def test_is_called_only_when_something_has_changed
    seen = []
    progress = Progress.of(->(done, _) { seen << done }, nil)
    progress.reach(0)
    progress.add(0)
    2.times { progress.reach(2) }
    assert_equal [2], seen
  end

  def test_a_bar_writes_to_a_terminal_only
    _, err = capture_io { Progress.of("Rows", 2).tap { |progress| progress.add(2) }.finish }
    assert_empty err
  end
end
