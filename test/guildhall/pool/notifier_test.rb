# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

# Runs callbacks of futures: one after the other, unless one waits or takes long.
class PoolNotifierTest < GuildhallTest
  def setup
    @pool = Guildhall::Pool.new(workers: 0)
    @seen = Queue.new
  end

  def teardown
    @pool.shutdown
  end

  def future(*payloads) = @pool.dispatch(payloads, :itself.to_proc)

  def test_every_callback_of_a_future_runs_once
    future(1).tap { |one| 5.times { |number| one.on_complete { @seen << number } } }
    assert_equal [0, 1, 2, 3, 4], Array.new(5) { @seen.pop(timeout: 60) }.sort
    assert_predicate @seen, :empty?
  end

  def test_a_callback_that_takes_long_does_not_hold_up_the_next
    gate = Queue.new
    future(1).on_complete { gate.pop }
    future(2).on_complete { @seen << :second }
    assert_equal :second, @seen.pop(timeout: 60)
  ensure
    gate << true
  end

  def test_a_callback_may_wait_for_another_future
    other = future(2)
    future(1).on_complete { @seen << other.value }
    assert_equal [2], @seen.pop(timeout: 60)
  end

  def test_a_callback_that_raises_is_reported_and_the_next_one_runs
    _, err = capture_io do
      future(1).on_complete { raise IOError, "lost" }
      future(2).on_complete { @seen << :next }
      assert_equal :next, @seen.pop(timeout: 60)
    end
    assert_includes err, "on_complete raised IOError: lost"
  end

  def test_a_thread_without_work_ends
    future(1).on_complete { @seen << Thread.current }
    thread = @seen.pop(timeout: 60)
    eventually { !thread.alive? }
  end

  def test_threads_that_are_killed_have_successors
    future(1).on_complete { nil }
    [0, 0.1].each do |seconds| # before it has begun; while it waits
      sleep(seconds)
      continued = future(2).then { 2 }
      Thread.list.each { |thread| thread.kill if thread.name == "guildhall notifier" }
      assert_equal 2, continued.value(timeout: 60)
    end
  end

  def test_the_thread_of_a_pool_that_stops_leaves_what_is_pending
    gate = Queue.new
    waiting = Struct.new(:gate) do
      def watch = nil
      def ready? = gate.closed?
      def deferred? = false
      def wait = nil
    end.new(gate)
    notifier = Guildhall::Pool::Notifier.new(@pool)
    notifier.add(waiting, ->(_) { @seen << :called })
    notifier.stop(10)
    assert_empty(Thread.list.select { |thread| thread.name == "guildhall notifier" && thread.alive? })
    gate.close
    notifier.look(false)
    assert_equal :called, @seen.pop(timeout: 60)
  end

  # As the process exits, Ruby refuses new threads.
  def test_a_callback_that_goes_on_while_the_process_exits
    out, err, = run_ruby(<<~RUBY)
      require "guildhall/pool"
      pool = Guildhall::Pool.new(workers: 0)
      begun = Queue.new
      pool.dispatch([1], :itself.to_proc).on_complete do |future|
        Thread.handle_interrupt(Object => :never) do
          begun << true
          sleep(0.001) while Thread.main.alive?
          20.times { future.then { nil } && sleep(0.005) }
          puts "done"
        end
      end
      begun.pop
    RUBY
    assert_equal ["done\n", ""], [out, err]
  end
end
