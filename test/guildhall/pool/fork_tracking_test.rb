# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "logger"
require "stringio"
require "support/pool_tasks"
require "support/wakes"

# Start, resize, fork and end; each scenario that might harm the process in one of its own.
class PoolForkTrackingTest < GuildhallTest
  include PoolTasks

  SETUP = <<~RUBY
    $LOAD_PATH.unshift("test")
    require "guildhall/pool"
    require "support/pool_tasks"
    include PoolTasks
    pool = Guildhall::Pool.new(workers: 2)
  RUBY

  def test_workers_start_with_the_first_batch_for_them
    pool = Guildhall::Pool.new(workers: 2)
    pool.map(%w[a], Upcase, parallel: false)
    refute_predicate pool, :workers?
    pool.map(%w[a], Upcase, parallel: true)
    assert_equal 2, pool.stats[:workers]
  ensure
    pool.shutdown
  end

  def test_hooks_are_installed_once_although_all_pools_were_collected
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      tracking = Guildhall::Pool::ForkTracking
      hooks = []
      tracking.define_singleton_method(:at_exit) { |&hook| hooks << hook }
      tracking.const_get(:POOLS).define_singleton_method(:size) { 0 }
      2.times { Guildhall::Pool.open(workers: 1) { |one| one.map(%w[a], Upcase, parallel: true) } }
      p hooks.size
    RUBY
    assert_equal "1\n", out
  end

  def test_resize_and_drain
    pool = Guildhall::Pool.new(workers: 1)
    pool.map(%w[a], Upcase, parallel: true)
    pool.resize(3)
    assert_equal 3, pool.stats[:workers]
    pool.resize(1)
    eventually { pool.stats[:workers] == 1 }
    assert_equal [:worker], pool.map(%w[a] * 10, WhichRactor, parallel: true).uniq
    future = pool.dispatch([0.2], Sleepy, parallel: true)
    refute pool.drain(timeout: 0.01)
    assert pool.drain(timeout: 5)
    assert_predicate future, :ready?
    pool.resize(0)
    assert_equal [:main], pool.map(%w[a], WhichRactor, parallel: true)
    {-1 => "workers must be an Integer ≥ 0, not -1", nil => "workers must be an Integer ≥ 0, not nil", 10**30 => "workers must be at most 1024"}
      .each { |count, message| assert_includes assert_raises(Guildhall::ArgumentError) { pool.resize(count) }.message, message }
  ensure
    pool.shutdown
  end

  def test_shutdown_reports_what_is_stuck
    pool = Guildhall::Pool.new(workers: 1)
    future = pool.dispatch([0.6, 0], Sleepy, parallel: true, slice: 1)
    eventually { pool.stats[:busy] == 1 }
    report = pool.shutdown(timeout: 0.05)
    refute report.complete
    assert_equal 1, report.stuck
    assert_equal [0.6, 0], future.value(timeout: 60)
  ensure
    assert pool.shutdown(timeout: 60).complete
  end

  def test_exit_while_workers_run_ruby_code_ends_the_process
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      module Busy; def self.call(_) = loop { }; end
      pool.dispatch(%w[a b], Busy, parallel: true)
      pool.dispatch([100], Sleepy, parallel: true)
      sleep(0.2)
      puts "leaving"
    RUBY
    assert_equal "leaving\n", out
  end

  def test_workers_that_were_started_where_nothing_interrupts_end_nevertheless
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      module Busy; def self.call(_) = loop { }; end
      Thread.handle_interrupt(Object => :never) { pool.dispatch(%w[a b], Busy, parallel: true, slice: 1) }
      sleep(0.01) until pool.stats[:busy] == 2
      puts "leaving"
    RUBY
    assert_equal "leaving\n", out
  end

  def test_a_child_ends_while_its_workers_run_ruby_code
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      module Busy; def self.call(_) = loop { }; end
      pool.map(%w[a], Upcase, parallel: true)
      Guildhall.before_fork
      child = fork do
        pool.dispatch(%w[a b], Busy, parallel: true, slice: 1)
        sleep(0.01) until pool.stats[:busy] == 2
      end
      Process.wait(child)
      puts $?.success?
    RUBY
    assert_equal "true\n", out
  end

  def test_shutdown_returns_although_a_logger_blocks
    gate = Thread::Queue.new
    logger = Object.new
    logger.define_singleton_method(:info) { |_| gate.pop }
    pool = Guildhall::Pool.new(workers: 1, logger:)
    pool.map(%w[a], Talking, parallel: true)
    ending = Thread.new { pool.shutdown(timeout: 0.2) }
    refute_nil ending.join(10)
    gate.close
    eventually { pool.shutdown.complete }
  end

  module Talking
    def self.call(payload)
      2.times { Guildhall.logger.info(payload) }
      payload
    end
  end

  def test_a_forked_child_starts_afresh
    skip "Ruby #{RUBY_VERSION} cannot be forked while Ractors live" if RUBY_VERSION.to_f < 4.0
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      future = pool.dispatch([0.5] * 4, Sleepy, parallel: true, slice: 1)
      sleep 0.1
      child = fork do
        puts pool.map(%w[a b], WhichRactor, parallel: true).inspect
        puts future.value.inspect
        GC.start
      end
      Process.wait(child)
      puts $?.success?, future.value.inspect
    RUBY
    assert_equal "[:worker, :worker]\n[0.5, 0.5, 0.5, 0.5]\ntrue\n[0.5, 0.5, 0.5, 0.5]\n", out
  end

  def test_fork_with_live_workers_is_refused_where_it_is_unsafe
    skip "Ruby #{RUBY_VERSION} can be forked" if RUBY_VERSION.to_f >= 4.0
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      pool.map(%w[a], Upcase, parallel: true)
      begin
        fork { }
      rescue Guildhall::Error => error
        puts error.message
      end
      puts `echo spawned`
    RUBY
    assert_includes out, "Guildhall.before_fork"
    assert_includes out, "spawned"
  end

  module Forking
    def self.call(_) = fork { exit!(0) }
  end

  def test_a_task_cannot_fork
    Guildhall::Pool.open(workers: 1, logger: Logger.new(StringIO.new)) do |pool|
      failure = pool.results(["x"], Forking, parallel: true).first
      assert_equal ["Ractor::IsolationError", "can not fork from non-main Ractors"], [failure.error_class, failure.message]
    end
  end

  def test_before_fork_lets_servers_fork
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      pool.map(%w[a], Upcase, parallel: true)
      Guildhall.before_fork
      child = fork { Guildhall.after_fork; puts pool.map(%w[a], WhichRactor, parallel: true).inspect }
      Process.wait(child)
      puts $?.success?, pool.map(%w[a], WhichRactor, parallel: true).inspect
    RUBY
    assert_equal "[:worker]\ntrue\n[:worker]\n", out
  end

  def test_workers_that_warm_up_has_started_end_before_a_fork_and_start_again_in_the_child
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      pool.warm_up(Upcase)
      Guildhall.before_fork
      p pool.workers?
      Process.wait(fork { p pool.warm_up(Upcase).map(%w[a], WhichRactor, parallel: true) })
    RUBY
    assert_equal "false\n[:worker]\n", out
  end

  def test_ctrl_c_reaches_a_caller_that_waits
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      Thread.new { sleep(0.2); Process.kill(:INT, Process.pid) }
      begin
        pool.dispatch([30], Sleepy, parallel: ARGV[0] == "parallel").value
      rescue Interrupt
        puts "interrupted"
      end
    RUBY
    assert_equal "interrupted\n", out
  end

  def test_an_idle_pool_neither_spins_nor_polls
    skip "needs /proc" unless Wakes.available?
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      pool.map(%w[a] * 100, Upcase, parallel: true)
      require "support/wakes"
      idle = Wakes.during(2)
      puts idle.rest && idle.wakes < 50
    RUBY
    assert_equal "true\n", out
  end
end
