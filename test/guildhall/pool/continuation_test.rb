# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/pool_tasks"

# What comes after a future: chains of any depth, errors, several at once, cancelling; no callback can wait for itself.
class PoolContinuationTest < GuildhallTest
  include PoolTasks

  def setup
    @pool = Guildhall::Pool.new(workers: 2)
  end

  def teardown
    @pool.shutdown(timeout: 5)
  end

  def future(payloads = %w[a], task = Upcase, **) = @pool.dispatch(payloads, task, **)

  def test_then_gets_values_and_gives_a_value
    [true, false].each { |parallel| assert_equal "AB", future(%w[a b], parallel:).then(&:join).value(timeout: 60) }
    assert_nil future.then { nil }.value(timeout: 5)
  end

  def test_a_future_that_the_block_returns_is_waited_for
    assert_equal ["A!"], future.then { |values| future(["#{values.first}!"]) }.value(timeout: 60)
    assert_equal 3, future.then { future.then { future.then { 3 } } }.value(timeout: 60)
  end

  def test_a_long_chain
    last = 1.upto(3000).inject(future.then { 0 }) { |before, _| before.then { |count| count + 1 } }
    assert_equal 3000, last.value(timeout: 60)
  end

  def test_callbacks_that_wait_for_futures_do_not_wait_for_themselves
    nest = ->(depth) { depth.zero? ? 0 : future.then { nest.call(depth - 1) + 1 }.value(timeout: 60) }
    assert_equal 40, nest.call(40)
    seen = Thread::Queue.new
    future.on_complete { seen << future(parallel: true).then { 1 }.value(timeout: 60) }
    assert_equal 1, seen.pop(timeout: 60)
  end

  def test_a_slow_callback_does_not_hold_up_the_others
    gate = Thread::Queue.new
    slow = future.then { gate.pop }
    assert_equal :next, future.then { :next }.value(timeout: 60)
    gate << :slow
    assert_equal :slow, slow.value(timeout: 60)
  end

  # One that takes longer than 50 ms does not hold up the next: on a busy machine any of them may, so that only quick runs count.
  def test_callbacks_run_in_order_and_not_at_once
    runs = Array.new(50).lazy.map { [Guildhall::Clock.now, seen_by_callbacks(20), Guildhall::Clock.now] }
    _, seen, = runs.find { |began, _, ended| ended - began < 0.05 }
    skip "the machine is too busy" unless seen
    assert_equal (0...20).to_a, seen
  end

  def seen_by_callbacks(count)
    seen = Thread::Queue.new
    running = 0
    done = future.tap(&:value)
    count.times { |number| done.on_complete { (running += 1) == 1 ? seen << number && (running -= 1) : seen << :run_inline } }
    Array.new(count) { seen.pop(timeout: 60) }
  end

  def test_what_cannot_be_continued_says_so
    [future, future.then { 1 }].each do |one|
      assert_raises(Guildhall::ArgumentError) { one.then }
      assert_raises(Guildhall::ArgumentError) { one.rescue(KeyError) }
      [5, nil].each { |stranger| assert_raises(Guildhall::ArgumentError) { one.any(stranger) } }
      assert_raises(Guildhall::ArgumentError) { one.rescue(KeyError, "error") { 1 } }
    end
    assert_raises(Guildhall::ArgumentError) { future.then { 1 }.zip(5) }
  end

  def test_rescue
    failing = future(%w[custom], Trouble)
    assert_equal 7, failing.then { flunk }.rescue(CustomError, &:code).value(timeout: 60)
    assert_equal "code 7 (payload 0)", failing.rescue(&:message).value(timeout: 60)
    assert_raises(CustomError) { failing.rescue(KeyError) { 1 }.value(timeout: 60) }
    assert_equal ["A"], future.rescue { flunk }.value(timeout: 60)
    assert_raises(NotImplementedError) { future.then { raise NotImplementedError }.rescue { 1 }.value(timeout: 60) }
    assert_equal 1, future.then { raise NotImplementedError }.rescue(NotImplementedError) { 1 }.value(timeout: 60)
  end

  def test_zip
    assert_equal [["A"], ["B"], 3], future.zip(future(%w[b]), future.then { 3 }).value(timeout: 60)
    assert_equal [[1], [2]], future.then { [1] }.zip(future.then { [2] }).value(timeout: 60)
    assert_raises(CustomError) { future.zip(future(%w[custom], Trouble)).value(timeout: 60) }
    assert_equal [["A", 1]], future.zip([1])
  end

  def test_any
    gate = Thread::Queue.new
    slow = future.then { gate.pop }
    assert_equal ["A"], slow.any(future).value(timeout: 60)
    assert_equal ["A"], future(%w[custom], Trouble).any(future).value(timeout: 60)
    assert_raises(CustomError) { future(%w[custom], Trouble).any(future(%w[custom], Trouble)).value(timeout: 60) }
  ensure
    gate&.push(1)
  end

  def test_wait_and_time_out
    gate = Thread::Queue.new
    waiting = future.then { gate.pop }
    refute waiting.wait(timeout: 0.05)
    refute_predicate waiting, :ready?
    assert_raises(Timeout::Error) { waiting.value(timeout: 0.05) }
    gate << 5
    assert waiting.wait(timeout: 5)
    assert_equal 5, waiting.value
  end

  def test_cancel
    gate = Thread::Queue.new
    first = future.then { gate.pop }
    called = false
    second = first.then { called = true }
    assert second.cancel
    refute second.cancel
    assert_raises(Guildhall::CancelledError) { second.value }
    gate << 1
    assert_equal 1, first.value(timeout: 60)
    assert_equal 2, future.then { 2 }.value(timeout: 60) # a callback that came after
    refute called
  end

  def test_a_block_that_ends_its_thread_is_an_error
    assert_raises(Guildhall::TaskError) { future.then { Thread.exit }.value(timeout: 60) }
    assert_equal 1, future.then { 1 }.value(timeout: 60)
    called = Thread::Queue.new
    future.on_complete { (called << 1) && Thread.exit }
    assert_equal 1, future.then { 1 }.value(timeout: 60)
    assert_equal 1, called.size
  end

  def test_on_complete_of_a_continuation
    seen = Thread::Queue.new
    continued = future.then { 1 }
    assert_same continued, continued.on_complete { |done| seen << done.value }
    assert_equal 1, seen.pop(timeout: 60)
    assert_raises(Guildhall::ArgumentError) { future.on_complete }
  end

  def test_a_continuation_that_would_wait_for_itself
    %i[itself value wait].each do |method|
      gate = Thread::Queue.new
      continued = future.then { gate.pop.public_send(method) }
      gate << continued
      assert_match(/wait for itself/, assert_raises(Guildhall::ArgumentError) { continued.value(timeout: 60) }.message)
    end
  end

  def test_threads_of_callbacks_end
    future.then { future.then { 1 }.value }.value(timeout: 60)
    eventually { Thread.list.none? { |thread| thread.name == "guildhall notifier" } }
  end

  def test_the_batch_is_no_part_of_the_interface
    assert_raises(NoMethodError) { future.batch }
  end
end
