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

  # Ruby refuses to wait for ever on a condition, and does not wait at all for a thread for 10**18 seconds.
  def test_what_is_left_is_never_more_than_a_thread_can_wait
    lock = Mutex.new
    [Float::INFINITY, 1e300, 1e18].each do |deadline|
      waiting = Thread.new { lock.synchronize { Thread::ConditionVariable.new.wait(lock, Guildhall::Clock.left(deadline)) } }
      joining = Thread.new { waiting.join(Guildhall::Clock.left(deadline)) }
      [waiting, joining].each { |thread| assert_nil thread.join(0.2), deadline }
    ensure
      [waiting, joining].each(&:kill).each(&:join)
    end
  end

  def test_deadlines
    assert_nil Guildhall::Clock.deadline(nil)
    assert_in_delta Guildhall::Clock.now + 100, Guildhall::Clock.deadline(100r), 30
    assert_predicate Guildhall::Clock.deadline(Float::INFINITY), :infinite?
    [Float::NAN, -1, -0.1, 1i, "1", true].each do |timeout|
      error = assert_raises(Guildhall::ArgumentError) { Guildhall::Clock.deadline(timeout) }
      assert_equal "timeout must be 0 or more seconds, not #{timeout.inspect}", error.message
    end
  end

  def test_answers_in_any_ractor
    assert_kind_of Float, ractor_value(Ractor.new { Guildhall::Clock.now })
  end
end
