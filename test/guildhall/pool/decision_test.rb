# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/pool_tasks"

# Where batches are run, and why.
class PoolDecisionTest < GuildhallTest
  include PoolTasks

  # Sleeps, and returns where.
  module SleepyWhere
    def self.call(seconds)
      sleep(seconds) if seconds.positive?
      Ractor.current == Ractor.main ? :main : :worker
    end
  end

  # Written at the call, in a place whose self is shareable: Ruby 3.4 keeps it.
  module Literals
    def self.where(pool)
      pool.map([0.05] * 8, ->(seconds) { sleep(seconds) && (Ractor.current == Ractor.main ? :main : :worker) })
    end

    def self.successors(pool)
      pool.map([1, 2, 3], ->(number) { number + 1 })
    end
  end

  # Says itself that workers cannot run it, and touches what they may not.
  class MainOnly
    COUNTED = [] # rubocop:disable Style/MutableConstant -- that is what is not for workers

    def call(seconds)
      sleep(seconds)
      COUNTED << seconds
      Ractor.current == Ractor.main ? :main : :worker
    end

    def inline_reason = "it counts_in the main Ractor"
  end

  def setup
    @pool = Guildhall::Pool.new(workers: 1)
  end

  def teardown
    @pool.shutdown(timeout: 5)
  end

  # Takes ten times as long on a worker, and fails if asked to.
  module SlowOnWorkers
    def self.call(payload)
      limit = Guildhall::Clock.now + (Ractor.current == Ractor.main ? 0.00005 : 0.0005)
      nil while Guildhall::Clock.now < limit
      raise "as asked" if payload == "f"
    end
  end

  # @return [String] "inline" or "parallel"
  def way_of(task) = @pool.report.to_s.lines.grep(/#{task}/).last.to_s[/\w+$/]

  # Until workers are on trial for it, in vain: after the caller alone was found faster, which a row of batches tells from an epoch of a trial.
  def on_trial(task, payloads)
    inline = 0
    eventually do
      @pool.map(payloads, task)
      inline = way_of(task) == "inline" ? inline + 1 : 0
      inline == 30
    end
    eventually { @pool.map(payloads, task) && way_of(task) == "parallel" }
  end

  def test_a_batch_that_is_not_measured_takes_no_part_in_a_trial
    payloads = ["p"] * 100
    on_trial(SlowOnWorkers, payloads)
    assert_equal "inline: slower", decision(payloads, SlowOnWorkers)
  end

  def test_a_trial_that_cannot_be_measured_is_put_off
    payloads = ["p"] * 100
    on_trial(SlowOnWorkers, payloads)
    100.times { @pool.results(["f"] * 100, SlowOnWorkers) unless way_of(SlowOnWorkers) == "inline" }
    assert_equal "inline", way_of(SlowOnWorkers)
  end

  def decision(*, pool: @pool, **) = pool.dispatch(*, **).decision.to_s

  def test_a_dear_batch_is_spread_the_first_time
    assert_equal %i[main worker], @pool.map([0.05] * 8, SleepyWhere).uniq.sort
  end

  def test_lambdas_written_at_the_call_are_spread_as_constants_are
    2.times do
      assert_equal %i[main worker], Literals.where(@pool).uniq.sort
    end
  end

  def test_what_says_that_it_cannot_run_on_workers_runs_in_its_readers_threads
    task = Ractor.make_shareable(MainOnly.new)
    reasons = [task, Guildhall::Pipeline.new([task])].map do |one|
      assert_equal [:main], @pool.map([0.02] * 5, one).uniq
      future = @pool.dispatch([0.02] * 5, one, parallel: true)
      assert_equal [:main], future.value.uniq
      future.decision.to_s
    end
    assert_equal ["inline: it counts_in the main Ractor"], reasons.uniq
    refute_predicate @pool, :workers?
  end

  # On a busy machine it may take some measurements.
  def known_to_be_cheap(task)
    eventually { @pool.map([0] * 3, task) && decision([0] * 3, task) == "inline: small" }
  end

  def test_what_was_cheap_and_is_dear_now_is_spread_while_it_runs
    known_to_be_cheap(SleepyWhere)
    assert_equal %i[main worker], @pool.map([0.05] * 8, SleepyWhere).uniq.sort
  end

  def test_a_deferred_batch_that_turns_out_dear_is_spread_while_it_is_read
    known_to_be_cheap(SleepyWhere)
    future = @pool.dispatch([0.05] * 3, SleepyWhere)
    assert_equal "inline: small", future.decision.to_s
    future.value
    assert_equal "parallel: overdue", future.decision.to_s
    assert_includes future.value, :worker
  end

  def test_small_batches_stay_in_the_caller
    eventually { @pool.map(%w[a] * 3, WhichRactor).uniq == [:main] } # what else the machine does may make the first ones look dear
    assert_equal "inline: small", decision(%w[a], WhichRactor)
    assert_equal :main, @pool.map(%w[a], WhichRactor).first
  end

  def test_unknown_code_without_a_reader_starts_on_a_worker
    future = @pool.dispatch(%w[a], WhichRactor)
    assert_equal "parallel: unknown", future.decision.to_s
    eventually { future.ready? }
    assert_equal [:worker], future.value
  end

  def test_reasons
    assert_equal "inline: forced", decision(%w[a] * 9, Upcase, parallel: false)
    assert_equal "parallel: forced", decision(%w[a] * 9, Upcase, parallel: true)
    assert_equal "inline: inline mode", Guildhall::Pool.inline { decision(%w[a] * 9, Upcase) }
    assert_equal "inline: no workers", decision(%w[a] * 9, Upcase, pool: Guildhall::Pool.new(workers: 0))
    assert_equal 1, @pool.report.decisions[Guildhall::Pool::Decision.new(:parallel, :forced)]
    assert_includes @pool.report.to_s, "inline: inline mode 1"
  end

  def test_saturated_and_open_breaker_are_named
    pool = Guildhall::Pool.new(workers: 1, capacity: 1, limits: Guildhall::Pool::Limits.new(breaker_deaths: 1))
    busy = [pool.dispatch([0.5], Sleepy, parallel: true)]
    eventually { pool.stats[:busy] == 1 && pool.depth.zero? }
    busy << pool.dispatch([0], Sleepy, parallel: true)
    assert_equal "inline: saturated", decision(%w[a] * 9, Upcase, pool:, parallel: true)
    busy.each(&:value)
    assert_output(nil, /workers died/) do
      pool.results(["thread exit"], Trouble, parallel: true, retry: false)
      eventually { pool.stats[:breaker_open] }
    end
    assert_equal "inline: breaker open", decision(%w[a] * 9, Upcase, pool:)
  ensure
    pool.shutdown(timeout: 5)
  end

  # Written at each call, and forgotten: what is kept is kept by code.
  def test_lambdas_leave_nothing_behind
    10.times { Literals.successors(@pool) }
    GC.start
    before = ObjectSpace.each_object(Guildhall::Pool::Runnable).count
    1000.times { Literals.successors(@pool) }
    GC.start
    assert_operator ObjectSpace.each_object(Guildhall::Pool::Runnable).count, :<, before + 20
    assert_equal(1, @pool.report.rows.count { |row| row.task.include?("decision_test.rb") && row.payloads.nil? })
  end
end
