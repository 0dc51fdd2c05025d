# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/pool_tasks"
require "tmpdir"

class PoolSupervisorTest < GuildhallTest
  include PoolTasks

  Limits = Guildhall::Pool::Limits

  # Ends its worker, but only the first time that a file is not there.
  class DiesOnce
    def initialize(path)
      @path = path.dup.freeze
      freeze
    end

    def call(payload)
      return payload unless payload == "die"

      Thread.exit unless File.exist?(@path)
      "survived"
    ensure
      File.write(@path, "") if payload == "die"
    end
  end

  def with_pool(**settings)
    pool = Guildhall::Pool.new(workers: 2, **settings)
    events = []
    pool.instrumentation.subscribe { |event| events << event }
    yield pool, events
  ensure
    pool.shutdown(timeout: 5)
  end

  def test_what_a_worker_died_with_runs_once_more
    Dir.mktmpdir do |folder|
      with_pool do |pool, events|
        assert_equal %w[a survived b], pool.map(%w[a die b], DiesOnce.new("#{folder}/1"), parallel: true)
        eventually { events.any? { |event| event.name == "pool.worker_died" && event.payload[:index] == 1 } }
        failure = pool.results(%w[a die b], DiesOnce.new("#{folder}/2"), parallel: true, retry: false)[1]
        assert_equal "Guildhall::WorkerDiedError", failure.error_class
      end
    end
  end

  def test_a_crash_loop_opens_the_breaker_and_callers_go_on
    with_pool(limits: Limits.new(breaker_deaths: 3), logger: logger = Lines.new) do |pool, events|
      results = pool.results((["thread exit"] * 6) + ["a"], Trouble, parallel: true)
      assert_equal 6, results.grep(Guildhall::Failure).size
      assert_equal "A", results.last
      eventually { events.any? { |event| event.name == "pool.breaker_opened" } }
      assert_match(/3 workers died/, logger.lines.join(" "))
      assert_equal [:main], pool.map(%w[a b], WhichRactor, parallel: true).uniq
      assert pool.stats[:breaker_open]
    end
  end

  def test_the_breaker_closes_after_its_pause
    with_pool(limits: Limits.new(breaker_deaths: 2, breaker_pause: 0.1), logger: Lines.new) do |pool, _events|
      pool.results(["thread exit"] * 2, Trouble, parallel: true)
      eventually { pool.map(%w[a], WhichRactor, parallel: true) == [:worker] }
    end
  end

  def test_a_stuck_payload_is_reported_and_its_worker_replaced
    with_pool do |pool, events|
      results = pool.results([0, 1.5, 0, 0], Sleepy, parallel: true, deadline: 0.1)
      assert_equal [0, 0, 0], results.grep(Integer)
      assert_equal "Guildhall::StuckError", results[1].error_class
      assert(events.any? { |event| event.name == "pool.worker_abandoned" && event.payload[:index] == 1 })
      assert_equal 1, pool.stats[:abandoned]
      assert_equal [:worker], pool.map(%w[a] * 20, WhichRactor, parallel: true).uniq
      assert_equal 2, pool.stats[:workers]
      eventually { pool.stats[:abandoned].zero? }
      assert_equal 1, pool.stats[:late_results]
      assert_equal "Guildhall::StuckError", results[1].error_class
    end
  end

  def test_too_many_stuck_workers_leave_the_work_to_callers
    with_pool(limits: Limits.new(max_abandoned: 0)) do |pool, _events|
      results = pool.results([1.2, 1.2], Sleepy, parallel: true, deadline: 0.1, slice: 1)
      assert_equal 2, results.grep(Guildhall::Failure).size
      assert_equal [:main], pool.map(%w[a], WhichRactor, parallel: true)
      eventually { pool.stats[:abandoned].zero? }
      eventually { pool.map(%w[a], WhichRactor, parallel: true) == [:worker] }
    end
  end

  def test_what_no_worker_is_left_for_fails_instead_of_occupying_the_caller
    with_pool(limits: Limits.new(max_abandoned: 1)) do |pool, _events|
      results = pool.results(([3] * 6) + [0], Sleepy, parallel: true, deadline: 0.1, slice: 1)
      assert_equal %w[Guildhall::StuckError] * 3, results.first(3).map(&:error_class)
      assert_equal ["Guildhall::WorkerDiedError"], results[3..].map(&:error_class).uniq
      assert_match(/no worker is left.*stuck in payloads that exceeded their deadline/, results.last.message)
      assert_equal [:main], pool.map(%w[a b], WhichRactor, parallel: true).uniq # another batch is its caller's
      eventually { pool.stats[:abandoned].zero? }
    end
  end

  def test_a_killed_supervisor_comes_back
    with_pool do |pool, _events|
      pool.map(%w[a], Upcase, parallel: true)
      Thread.list.find { |thread| thread.name == "guildhall supervisor" }.kill.join
      assert_equal "Guildhall::WorkerDiedError", pool.results(["thread exit"], Trouble, parallel: true).first.error_class
      future = pool.dispatch(["a", "thread exit", "b"], Trouble, parallel: true)
      Thread.list.find { |thread| thread.name == "guildhall supervisor" }.kill.join
      assert_equal %w[A B], future.results(timeout: 60).grep(String)
    end
  end

  def test_a_batch_does_not_wait_for_a_worker_that_took_another_one
    with_pool do |pool, _events|
      10.times do
        eventually { pool.stats[:busy].zero? }
        long = pool.dispatch([0.3], Sleepy, parallel: true)
        short = pool.dispatch([0], Sleepy, parallel: true)
        assert_equal [0], short.value(timeout: 60)
        refute_predicate long, :ready? # there are two workers, and one of them was free
        long.wait
      end
    end
  end

  def test_statistics_keep_what_workers_did_that_have_exited
    with_pool(workers: 2) do |pool|
      pool.dispatch(%w[a] * 10, Upcase, parallel: true).wait
      pool.results(["thread exit"], Trouble, parallel: true, retry: false)
      pool.resize(1)
      pool.dispatch(%w[a] * 10, Upcase, parallel: true).wait
      assert eventually { pool.stats.then { |stats| stats[:by_worker].key?(:exited) && sum_of(stats) == stats[:by_workers] } }
      # A worker counts a slice after its results were handed over; a reader that has waited long runs some itself.
      assert eventually { pool.stats.values_at(:by_workers, :inlined).sum >= 20 }
    end
  end

  def sum_of(stats) = stats[:by_worker].values.sum { |worker| worker[:payloads] }

  # The switch is the process's: the second one to throw it found it off, and left it so.
  def test_the_warning_about_ractors_is_not_left_off_by_two_that_start_workers
    before = Warning[:experimental]
    Warning[:experimental] = true
    gates = Array.new(2) { Thread::Queue.new }
    threads = gates.map do |gate|
      Thread.new { Guildhall::Pool::Worker.send(:quietly) { gate.pop } }.tap { |thread| eventually { thread.stop? } }
    end
    gates.zip(threads) { |gate, thread| (gate << :go) && thread.join }
    assert Warning[:experimental], "left off"
  ensure
    Warning[:experimental] = before
  end

  def test_no_worker_is_forgotten_by_a_supervisor_that_is_killed_while_it_starts_one
    out = assert_ruby(<<~RUBY)
      $LOAD_PATH.unshift("test")
      require "guildhall/pool"
      Warning[:experimental] = false
      Guildhall::Pool::Worker.singleton_class.prepend(Module.new { def start(...) = super.tap { sleep(0.05) } })
      worker_set = Guildhall::Pool::WorkerSet.new(10, Guildhall::Pool::Log.new)
      hiring = Thread.new { worker_set.resize(3) }
      sleep(0.001) until Ractor.count == 2
      hiring.kill.join
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 10
      known = -> { worker_set.handles.count { |handle| !handle.slot.exited? } == Ractor.count - 1 }
      sleep(0.001) until known.call || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit # one whose slot was taken back ends
      p known.call
      worker_set.queue.close
      p worker_set.queue.wait_until_workerless(10)
    RUBY
    assert_equal "true\ntrue\n", out
  end

  def test_workers_that_cannot_be_started_leave_the_work_to_callers
    out, err, = run_ruby(<<~RUBY)
      $LOAD_PATH.unshift("test")
      require "guildhall/pool"
      require "support/pool_tasks"
      Guildhall::Pool::Worker.singleton_class.prepend(Module.new { def start(...) = raise(ThreadError, "no thread left") })
      pool = Guildhall::Pool.new(workers: 2)
      p pool.map(%w[a b], PoolTasks::WhichRactor, parallel: true), pool.stats[:workers], pool.shutdown.complete
    RUBY
    assert_equal "[:main, :main]\n0\ntrue\n", out
    assert_includes err, "a worker could not be started: ThreadError: no thread left"
  end

  # A logger for tests.
  class Lines
    attr_reader :lines

    def initialize = @lines = []
    def add(severity, text) = @lines << [severity, text]
    def debug(text = nil) = add(:debug, text || yield)
    def info(text = nil) = add(:info, text || yield)
    def warn(text) = add(:warn, text)
    def error(text) = add(:error, text)
  end
end
