# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaTimerTest < GuildhallTest
  def setup
    @errors = Thread::Queue.new
    @timer = Guildhall::Kafka::Runtime::Timer.new { |error| @errors << error }
    @calls = Thread::Queue.new
  end

  def teardown
    close(5)
  end

  def close(seconds) = @timer.close(Guildhall::Clock.now + seconds)

  def test_blocks_are_called_in_the_order_of_their_times
    @timer.after(1) { @calls << 2 }
    @timer.after(0.01) { @calls << 1 }
    assert_equal [1, 2], Array.new(2) { @calls.pop(timeout: 60) }
  end

  def test_a_time_that_never_comes_holds_up_nothing
    @timer.after(1e30) { @calls << :never }
    Thread.pass until @timer.instance_variable_get(:@thread).stop?
    @timer.after(0.01) { @calls << :soon }
    assert_equal :soon, @calls.pop(timeout: 60)
  end

  def test_what_was_cancelled_is_not_called
    token = @timer.after(0.01) { @calls << :cancelled }
    @timer.cancel(token)
    @timer.cancel(nil)
    @timer.after(0.02) { @calls << :other }
    assert_equal :other, @calls.pop(timeout: 60)
    assert_empty @calls
  end

  def test_who_comes_after_it_was_closed_is_told
    assert @timer.after(60) { flunk }
    assert close(5)
    assert_nil @timer.after(0) { flunk }
  end

  def test_periodic_calls_go_on_when_one_of_them_raises
    @timer.every(0.005) do
      @calls << true
      raise "once" if @calls.size == 1
    end
    eventually { @calls.size >= 3 }
    assert_equal "once", @errors.pop.message
  end

  def test_a_job_that_raises_no_standard_error_ends_nothing_and_is_not_raised_again_by_close
    @timer.after(0) { raise NotImplementedError, "abstract" }
    @timer.after(0) { raise LoadError, "no gem" }
    @timer.after(0.01) { @calls << true }
    assert @calls.pop(timeout: 60)
    assert_equal [NotImplementedError, LoadError], [@errors.pop.class, @errors.pop.class]
    assert close(5)
  end

  def test_closing_waits_for_the_job_at_hand_until_the_deadline
    gate = Thread::Queue.new
    2.times do |index|
      timer = Guildhall::Kafka::Runtime::Timer.new
      timer.after(0) { (@calls << true) && gate.pop }
      assert @calls.pop(timeout: 60)
      gate << true if index.zero?
      assert_equal index.zero?, timer.close(Guildhall::Clock.now + (index.zero? ? 5 : 0))
    end
    eventually { gate.num_waiting.zero? }
  end

  def test_a_job_that_ends_its_thread_has_a_successor
    @timer.after(0) { Thread.exit }
    @timer.after(0.01) { @calls << true }
    assert @calls.pop(timeout: 60)
  end
end
