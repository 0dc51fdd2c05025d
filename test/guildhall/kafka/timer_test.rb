# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaTimerTest < GuildhallTest
  def setup
    @errors = Thread::Queue.new
    @timer = Guildhall::Kafka::Timer.new { |error| @errors << error }
    @calls = Thread::Queue.new
  end

  def teardown
    @timer.close
  end

  def test_blocks_are_called_in_the_order_of_their_times
    @timer.after(0.05) { @calls << 2 }
    @timer.after(0.01) { @calls << 1 }
    assert_equal [1, 2], Array.new(2) { @calls.pop(timeout: 5) }
  end

  def test_what_was_cancelled_is_not_called
    token = @timer.after(0.01) { @calls << :cancelled }
    @timer.cancel(token)
    @timer.cancel(nil)
    @timer.after(0.02) { @calls << :other }
    assert_equal :other, @calls.pop(timeout: 5)
    assert_empty @calls
  end

  def test_periodic_calls_go_on_when_one_of_them_raises
    @timer.every(0.005) do
      @calls << true
      raise "once" if @calls.size == 1
    end
    eventually { @calls.size >= 3 }
    assert_equal "once", @errors.pop.message
  end
end
