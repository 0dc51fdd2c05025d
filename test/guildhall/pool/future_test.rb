# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/pool_tasks"

# What a future gives, and which of it runs something. Without workers: its reader runs all of it.
class PoolFutureTest < GuildhallTest
  include PoolTasks

  def setup
    @pool = Guildhall::Pool.new(workers: 0)
  end

  def future(payloads = %w[a standard c], task = Trouble) = @pool.dispatch(payloads, task)

  def test_an_outcome_by_its_place
    one = future
    assert_equal "C", one[-1]
    assert_equal [false, true, 1], [one.ready?(0), one.ready?(2), one.done]
    assert_instance_of Guildhall::Failure, one[1]
    [3, -4, 100].each { |index| assert_nil one[index] }
    refute_predicate one, :ready?
  end

  # Gives back what it takes out; what is not there yet it waits for.
  Turnstile = Struct.new(:queue) do
    def call(payload) = payload == "wait" ? queue.pop(timeout: 60) : payload
  end

  # Small payloads are waited for several at a time.
  def test_an_outcome_does_not_wait_for_one_behind_it
    pool = Guildhall::Pool.new(workers: 2)
    queue = Guildhall::Queue.new(1)
    turnstile = Ractor.make_shareable(Turnstile.new(queue))
    5.times { pool.dispatch(["go"] * 100, turnstile, parallel: true).value } # what they cost is known
    future = pool.dispatch(%w[go go wait go], turnstile, parallel: true)
    assert_equal "go", future[0]
    refute future.ready?(2)
    queue.push("gone")
    assert_equal "gone", future[2]
  ensure
    pool&.shutdown
  end

  def test_all_of_them
    one = future
    assert_raises(RuntimeError) { one.value }
    assert_equal %w[A C], one.results.grep(String)
    assert_equal [1], one.failures.map(&:index)
    assert_equal [0, 1, 2], one.each_ready.map { |_, index| index }
    assert_equal [3, 3], [one.each.size, one.each_ready.size]
    assert_equal "#<Guildhall::Pool::Future 3/3, 1 failed; inline: no workers>", one.inspect
  end

  def test_none_of_them
    one = future([])
    assert_equal [true, [], [], 0, nil], [one.ready?, one.value, one.failures, one.cancel, one[0]]
  end

  def test_what_is_ready_costs_no_wait
    one = future
    refute_predicate one, :ready?
    refute one.wait(timeout: 0)
    assert one.wait
    assert one.wait(timeout: 0)
    error = assert_raises(Guildhall::TimeoutError) { future.results(timeout: 0) }
    assert_equal "0 of 3 payloads are done after 0 s; the others continue", error.message
  end

  def test_what_is_cancelled_does_not_run
    one = future
    assert_equal "A", one[0]
    assert_equal 2, one.cancel
    assert_equal 0, one.cancel
    assert_equal ["Guildhall::CancelledError"] * 2, one.failures.map(&:error_class)
  end

  def test_zip_with_futures_and_with_anything_else
    one = future(%w[a b], Upcase)
    assert_equal [["A", 1], ["B", 2]], one.zip([1, 2])
    assert_equal [%w[A B], %w[C]], one.zip(future(%w[c], Upcase)).value(timeout: 60)
  ensure
    @pool.shutdown
  end
end
