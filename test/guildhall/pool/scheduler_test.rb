# frozen_string_literal: true

require "test_helper"

# Waits in fibers of a scheduler: they suspend the fiber only, and leave nothing behind. With async, in a process of its own.
class PoolSchedulerTest < GuildhallTest
  SETUP = <<~RUBY
    $LOAD_PATH.unshift("test")
    require "guildhall/pool"
    require "support/pool_tasks"
    require "async"
    include PoolTasks
    Warning[:experimental] = false
    pool = Guildhall::Pool.new(workers: 2)

    # The longest that another fiber had to wait while the block ran: in seconds of work of this process, which say nothing about
    # other processes.
    def lag(task)
      worst = 0
      worked = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
      ticking = task.async do
        loop do
          began = worked.call
          sleep(0.002)
          worst = [worst, worked.call - began].max
        end
      end
      yield
      ticking.stop
      worst
    end
  RUBY

  def test_a_cancelled_wait_leaves_no_thread
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      Async do |task|
        future = pool.dispatch([1.5], Sleepy, parallel: true)
        before = Thread.list.size
        [-> { future.value }, -> { future[0] }, -> { future.each { nil } }, -> { future.then { 1 }.value }].each do |wait|
          10.times { task.with_timeout(0.01) { wait.call } rescue Async::TimeoutError }
        end
        limit = Guildhall::Clock.now + 1
        sleep(0.01) until Thread.list.size <= before + 2 || Guildhall::Clock.now > limit
        puts Thread.list.size - before <= 2 # the one of the callbacks
      end
      pool.shutdown
    RUBY
    assert_equal "true\n", out
  end

  def test_a_cancelled_reader_of_a_deferred_batch_runs_nothing_more
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      Async do |task|
        future = pool.dispatch([0.02] * 200, Sleepy, parallel: false)
        task.with_timeout(0.1) { future.value } rescue Async::TimeoutError
        sleep(0.05)
        done = future.done
        sleep(0.2)
        puts future.done - done
      end
    RUBY
    assert_equal "0\n", out
  end

  def test_other_fibers_go_on_while_a_batch_runs_inline
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      module Busy
        def self.call(seconds)
          limit = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
          nil until Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) > limit
        end
      end
      Async do |task|
        [-> { pool.map([0.4, 0.4], Busy, parallel: false) }, -> { pool.dispatch([0.4, 0.4], Busy, parallel: false).then { 1 }.value }].each do |call|
          worst = lag(task) { call.call }
          puts worst < 0.3 ? "gave way" : worst
        end
      end
    RUBY
    assert_equal "gave way\ngave way\n", out
  end

  def test_a_map_without_workers_suspends_its_fiber_only
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      module Patient
        def self.call(naps) = naps.times { sleep(0.01) }
      end
      alone = Guildhall::Pool.new(workers: 0)
      Async do |task|
        ran = false
        task.async { ran = true }
        p alone.map([1, 2], Patient), ran
        ended = task.with_timeout(0.1) { alone.map([1000], Patient) } rescue $!.class
        p ended
      end
    RUBY
    assert_equal "[1, 2]\ntrue\nAsync::TimeoutError\n", out
  end

  def test_chains_streams_and_waits_in_fibers
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      Async do |task|
        one = task.async { pool.dispatch(%w[a], Upcase).then { |values| pool.dispatch(values, Upcase) }.value }
        other = task.async { pool.each(%w[a b c].each, Upcase, chunk: 1).to_a }
        p one.wait, other.wait
      end
      pool.shutdown
    RUBY
    assert_equal "[\"A\"]\n[\"A\", \"B\", \"C\"]\n", out
  end
end
