# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/pool_tasks"

# Pools that end: by a block, by nobody's reference, from callbacks and traps; the process's pool; children.
class PoolLifecycleTest < GuildhallTest
  include PoolTasks

  SETUP = <<~RUBY
    $LOAD_PATH.unshift("test")
    require "guildhall/pool"
    require "support/pool_tasks"
    include PoolTasks
    Warning[:experimental] = false
    pool = Guildhall::Pool.new(workers: 2)
  RUBY

  def test_open_shuts_down
    kept = nil
    assert_equal %w[A], Guildhall::Pool.open(workers: 1) { |pool| (kept = pool).map(%w[a], Upcase, parallel: true) }
    refute_predicate kept, :workers?
    assert_raises(Guildhall::PoolClosedError) { kept.dispatch(%w[a], Upcase) }
    assert_raises(KeyError) { Guildhall::Pool.open(workers: 1) { |pool| (kept = pool) && raise(KeyError) } }
    assert_raises(IOError) { kept.dispatch(%w[a], Upcase) }
  end

  def test_a_wait_is_a_number_of_seconds
    pool = Guildhall::Pool.new(workers: 1)
    future = pool.dispatch(%w[a], Upcase)
    waits = %i[wait value results failures].map { |name| ->(timeout) { future.public_send(name, timeout:) } }
    waits += %i[drain rest shutdown].map { |name| ->(timeout) { pool.public_send(name, timeout:) } }
    waits << ->(timeout) { future.then(&:itself).wait(timeout:) }
    waits.product([Float::NAN, -1, "1", 1i]) do |wait, timeout|
      error = assert_raises(Guildhall::ArgumentError, wait.inspect) { wait.call(timeout) }
      assert_equal "timeout must be 0 or more seconds, not #{timeout.inspect}", error.message
    end
    assert_equal %w[A], pool.map(%w[a], Upcase), "a shutdown that was refused ends nothing"
    assert_equal %w[A], future.value(timeout: Float::INFINITY)
  ensure
    pool.shutdown
  end

  # Before there are workers, and with them.
  def test_a_trap_may_map_and_dispatch
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      seen = []
      trap(:USR1) do
        seen << pool.map(%w[a b], Upcase) << pool.map([0.002] * 5, Sleepy).sum.round(3) << pool.dispatch(%w[c], Upcase, parallel: true, deadline: 20).value
      end
      2.times do |time|
        Process.kill(:USR1, Process.pid)
        sleep(0.001) until seen.size == 3 * (time + 1)
        pool.map(%w[a], Upcase, parallel: true)
      end
      p seen, pool.shutdown.complete
    RUBY
    assert_equal "#{[%w[A B], 0.01, %w[C]] * 2}\ntrue\n", out
  end

  # A dispatch with a deadline summons the supervisor, and a fork in the handler makes another one: neither may take a lock.
  def test_a_trap_may_dispatch_with_a_deadline_and_fork
    forks
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      pool.map(%w[a], Upcase, parallel: true)
      seen = []
      trap(:USR1) do
        seen << pool.dispatch(%w[c], Upcase, parallel: true, deadline: 20).value
        Process.wait(fork { $stdout.syswrite("\#{pool.map(%w[a b], Upcase, deadline: 20)}\n") && exit!(0) })
        seen << $?.exitstatus
      end
      Process.kill(:USR1, Process.pid)
      sleep(0.001) until seen.size == 2
      p seen, pool.map(%w[a], Upcase, parallel: true)
    RUBY
    assert_equal %(["A", "B"]\n[["C"], 0]\n["A"]\n), out
  end

  # Pops from a queue where it is given nothing.
  class Gated
    def initialize(gate)
      @gate = gate
      Ractor.make_shareable(self)
    end

    def call(payload) = payload || @gate.pop
  end

  def test_a_rest_whose_time_was_up_ends_with_its_workers
    pool = Guildhall::Pool.new(workers: 1)
    gate = Guildhall::Queue.new(1)
    future = pool.dispatch([nil], task = Gated.new(gate), parallel: true)
    eventually { pool.stats[:busy] == 1 }
    refute pool.rest(timeout: 0.05)
    assert_equal "inline: queue closed", pool.dispatch([1], task, parallel: true).decision.to_s
    gate << "opened"
    assert_equal ["opened"], future.value(timeout: 60)
    eventually { pool.map([1], WhichRactor, parallel: true) == [:worker] }
    assert pool.rest(timeout: 10)
    assert_equal [:worker], pool.map([1], WhichRactor, parallel: true)
  ensure
    pool.shutdown
  end

  # The reader that starts the workers holds a lock and gives up the GVL. Meanwhile the other readers push the same batch, or run it.
  def test_a_batch_that_several_readers_spread_is_given_to_workers_once
    pool = Guildhall::Pool.new(workers: 1)
    futures = Array.new(2) { pool.dispatch(%w[a b], Upcase, parallel: false, source: 1) }
    starting = pool.instance_variable_get(:@supervisor).instance_variable_get(:@lock)
    readers = starting.synchronize do
      threads = futures.flat_map { |future| Array.new(2) { Thread.new { pool.parallelize(future.instance_variable_get(:@batch)) } } }
      eventually { threads.all?(&:stop?) }
      assert_equal %w[A B], futures.last.value
      threads
    end
    assert(readers.all? { |thread| thread.join(10) })
    assert_equal %w[A B], futures.first.value(timeout: 60)
    assert pool.drain(timeout: 5)
    assert_predicate futures.last, :deferred?
  ensure
    pool.shutdown
  end

  # The queue that counts it in flight is not the one that would count it done.
  def test_a_batch_of_before_a_rest_stays_with_its_reader
    pool = Guildhall::Pool.new(workers: 1)
    future = pool.dispatch(%w[a b], Upcase, parallel: false)
    assert pool.rest
    pool.parallelize(future.instance_variable_get(:@batch))
    assert_predicate future, :deferred?
    assert_equal %w[A B], future.value
    assert pool.drain(timeout: 1)
  ensure
    pool.shutdown
  end

  def test_what_has_been_shut_down_starts_nothing
    pool = Guildhall::Pool.new(workers: 1).tap(&:shutdown)
    [-> { pool.resize(2) }, -> { pool.warm_up(Upcase) }, -> { pool.map(%w[a], Upcase) }].each do |call|
      assert_equal "this pool has been shut down", assert_raises(Guildhall::PoolClosedError, &call).message
    end
    assert pool.rest
    assert pool.drain
    refute_predicate pool, :workers?
  end

  def test_the_processs_pool
    out = assert_ruby(<<~RUBY)
      require "guildhall/pool"
      p Guildhall.pool.equal?(Guildhall.pool), Array.new(8) { Thread.new { Guildhall.pool } }.map(&:value).uniq.size
      Guildhall.pool = own = Guildhall::Pool.new(workers: 1)
      p Guildhall.pool.equal?(own)
      Guildhall.pool = nil
      p Guildhall.pool.equal?(own), Guildhall::Pool.respond_to?(:default)
      begin
        Guildhall.pool = 5
      rescue ArgumentError => error
        puts error.message
      end
    RUBY
    assert_equal %w[true 1 true false false], out.lines(chomp: true).first(5)
    assert_equal "not a pool: 5", out.lines(chomp: true).last
  end

  def test_pools_live_in_the_main_ractor
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      ractor = Ractor.new do
        [(Guildhall.pool rescue $!), (Guildhall::Pool.new rescue $!)].map { |error| [error.class.name, error.message] }
      end
      (ractor.respond_to?(:value) ? ractor.value : ractor.take).each { |name, text| puts name, text }
    RUBY
    assert_equal ["Guildhall::WrongRactorError", "pools live in the main Ractor; in a worker, call the code itself"] * 2, out.lines(chomp: true)
  end

  def test_a_pool_without_references_ends
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      pool = nil
      def use = Guildhall::Pool.new(workers: 2).then { |pool| pool.map(%w[a b], Upcase, parallel: true) && pool.dispatch(%w[a], Upcase, parallel: true).then { 1 }.value }
      20.times { Thread.new { use }.join }
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
      until (seen = [Ractor.count, Thread.list.size]).max <= 5 || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
        GC.start
        sleep(0.02)
      end
      p seen.max <= 5, seen
    RUBY
    assert_equal "true", out.lines(chomp: true).first, out
  end

  def test_shutdown_from_a_callback
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      reports = Thread::Queue.new
      pool.dispatch(%w[a], Upcase, parallel: true).on_complete { reports << pool.shutdown }
      p reports.pop(timeout: 60)&.complete
      pool = Guildhall::Pool.new(workers: 2)
      p pool.dispatch(%w[a], Upcase, parallel: true).then { pool.shutdown.complete }.value(timeout: 60)
    RUBY
    assert_equal "true\ntrue\n", out
  end

  def test_shutdown_from_a_subscriber
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      reports = Thread::Queue.new
      pool.instrumentation.subscribe("pool.worker_died") { reports << pool.shutdown(timeout: 2) }
      pool.results(["thread exit"], Trouble, parallel: true)
      p reports.pop(timeout: 60).class
    RUBY
    assert_equal "Guildhall::Pool::Shutdown\n", out
  end

  def test_shutdown_in_a_trap
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      pool.map(%w[a], Upcase, parallel: true)
      report = nil
      trap(:USR1) { report = pool.shutdown }
      Process.kill(:USR1, Process.pid)
      sleep(0.01) until report
      p report.complete, report.stuck
    RUBY
    assert_equal "true\n0\n", out
  end

  def test_what_waits_behind_a_worker_that_is_stuck_is_its_readers
    %i[shutdown resize].each do |ending|
      pool = Guildhall::Pool.new(workers: 1)
      stuck = pool.dispatch([3], Sleepy, parallel: true)
      eventually { pool.stats[:busy] == 1 }
      waiting, continued = Array.new(2) { pool.dispatch([0.01], Sleepy, parallel: true) }
      continued = continued.then { |values| values }
      ending == :resize ? pool.resize(0) : pool.shutdown(timeout: 0.05)
      assert_equal [[0.01], [0.01]], [waiting.value(timeout: 60), continued.value(timeout: 60)]
      refute_predicate stuck, :ready?
    ensure
      pool.shutdown
    end
  end

  def test_shutdown_without_a_limit
    pool = Guildhall::Pool.new(workers: 1)
    future = pool.dispatch([0.1], Sleepy, parallel: true)
    assert pool.shutdown(timeout: nil).complete
    assert_equal [0.1], future.value
    assert Guildhall::Pool.new(workers: 1).rest(timeout: nil)
  end

  def test_a_subscriber_that_raises_anything_does_no_harm
    pool = Guildhall::Pool.new(workers: 1)
    pool.instrumentation.subscribe("pool.worker_died", "pool.dispatched") { raise NotImplementedError }
    _, err = capture_io do
      assert_equal "Guildhall::WorkerDiedError", pool.results(["thread exit"], Trouble, parallel: true).first.error_class
      assert pool.shutdown.complete
    end
    assert_includes err, "NotImplementedError"
  end

  def forks
    skip "Ruby #{RUBY_VERSION} cannot be forked while Ractors live" if RUBY_VERSION.to_f < 4.0
  end

  def in_child(body, before: "")
    forks
    assert_ruby(<<~RUBY)
      #{SETUP}
      #{before}
      child = fork do
        #{body}
      end
      Process.wait(child)
      puts $?.exitstatus
    RUBY
  end

  def test_a_child_runs_what_the_parent_has_in_flight
    out = in_child(<<~RUBY, before: "future = pool.dispatch([0.3] * 2, Sleepy, parallel: true, slice: 1)")
      p future.then(&:sum).value(timeout: 60), future.value, pool.stats[:workers]
    RUBY
    assert_equal "0.6\n[0.3, 0.3]\n0\n0\n", out
  end

  # A trap handler that forks without a block comes back into what it has interrupted, in both processes.
  FORKING = <<~'RUBY'
    reader, writer = IO.pipe
    child = nil
    trap(:USR1) { child = fork }
    signal = ->(later) { Thread.new { later.call; Process.kill(:USR1, Process.pid) } }
    finish = lambda do |outcome|
      writer.syswrite("#{child ? "parent" : "child"} #{outcome.inspect}\n")
      exit!(0) unless child
      Process.wait(child)
      writer.close
      puts reader.read.lines.sort
    end
  RUBY

  {
    "a_future" => ["pool.dispatch([0.4] * 4, Sleepy, parallel: true, slice: 1).value(timeout: 40)", "[0.4, 0.4, 0.4, 0.4]"],
    "one_outcome" => ["pool.dispatch([0.4] * 4, Sleepy, parallel: true, slice: 1)[3]", "0.4"],
    "a_future_without_a_limit" => ["pool.dispatch([0.4] * 4, Sleepy, parallel: true, slice: 1).value", "[0.4, 0.4, 0.4, 0.4]"],
    "the_end_of_all_work" => ["pool.dispatch([0.5], Sleepy, parallel: true) && pool.drain(timeout: 40)", "true"],
    "a_shutdown" => ["pool.dispatch([0.5], Sleepy, parallel: true) && pool.shutdown(timeout: 40).complete", "true"]
  }.each do |name, (wait, outcome)|
    define_method(:"test_a_trap_handler_forks_while_its_thread_waits_for_#{name}") do
      forks
      out = assert_ruby(<<~RUBY)
        #{SETUP}
        #{FORKING}
        signal.call(-> { sleep(0.001) until pool.stats[:busy].positive? })
        finish.call(#{wait})
      RUBY
      assert_equal "child #{outcome}\nparent #{outcome}\n", out
    end
  end

  def test_a_trap_handler_forks_while_its_thread_waits_for_room
    forks
    out = assert_ruby(<<~RUBY)
      #{SETUP}
      #{FORKING}
      pool = Guildhall::Pool.new(workers: 1, capacity: 2, overflow: :wait, overflow_timeout: 40)
      futures = Array.new(2) { pool.dispatch([0.5], Sleepy, parallel: true) } << pool.dispatch([0.5, 0.0], Sleepy, parallel: true)
      signal.call(-> { sleep(0.2) })
      futures << pool.dispatch([0.0, 0.0], Sleepy, parallel: true)
      finish.call(futures.map { |future| future.value(timeout: 40) })
    RUBY
    assert_equal "child [[0.5], [0.5], [0.5, 0.0], [0.0, 0.0]]\nparent [[0.5], [0.5], [0.5, 0.0], [0.0, 0.0]]\n", out
  end

  # A worker may hold the lock of the queue when the process is forked.
  def test_a_child_never_waits_for_a_lock_of_its_parents_workers
    forks
    assert_equal "40 children\n", assert_ruby(<<~RUBY)
      #{SETUP}
      queue = Guildhall::Pool::FairQueue.build(10_000, 2)
      runnable = Guildhall::Pool::TaskRegistry.new[Sleepy]
      batches = Array.new(500) { |number| Guildhall::Pool::Batch.build(queue, runnable, [0.0], nil, false, true, nil, nil, number, 1) }
      batches.each { |batch| queue.push(batch) or abort("not queued") }
      stop = Guildhall::Queue.new(1)
      busy = Array.new(2) { Ractor.new(queue, stop) { |line, ended| line.depths until ended.closed? } }
      children = Array.new(40) do
        fork do
          abort("what is the parent's counts") unless queue.push(batches.first).nil? && queue.payloads.zero?
          abort("waits") unless queue.wait_for_room(100_000, 20) && queue.wait_until_drained(20) && queue.wait_until_workerless(20)
          queue.depths
          queue.sources_compared
          batches.each(&:let_go)
          GC.start
          queue.close
          batches.each(&:reset_after_fork)
          queue = batches = nil
          GC.start
          exit!(0)
        end
      end
      ended = children.count do |child|
        limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
        sleep(0.005) until (done = Process.wait2(child, Process::WNOHANG)) || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
        Process.kill(:KILL, child) unless done
        done && done.last.success?
      end
      stop.close
      busy.each(&:join)
      puts "\#{ended} children"
    RUBY
  end

  def test_a_parents_continuation_raises_in_a_child
    before = "continued = pool.dispatch([0.5], Sleepy, parallel: true).then { 1 }"
    out = in_child(<<~RUBY, before:)
      begin
        continued.value(timeout: 60)
      rescue Guildhall::PoolClosedError => error
        puts error.message
      end
      p((continued.then { 2 }.value(timeout: 60) rescue $!.class))
    RUBY
    assert_equal ["this continuation belongs to the process before the fork, and runs there", "Guildhall::PoolClosedError", "0"], out.lines(chomp: true)
  end

  def test_callbacks_run_once_and_in_the_parent
    before = "future = pool.dispatch([0.3] * 2, Sleepy, parallel: true, slice: 1); " \
             "future.on_complete { $stdout.syswrite(Process.pid == parent ? 'called in the parent' : 'called in the child') }"
    out = in_child("future.value; sleep(0.2)", before: "parent = Process.pid; #{before}; at_exit { future.value && sleep(0.3) if Process.pid == parent }")
    assert_equal 1, out.scan("called in the parent").size
    refute_includes out, "called in the child"
  end

  def test_drain_shutdown_and_rest_return_in_a_child
    before = "pool.dispatch([0.8] * 4, Sleepy, parallel: true, slice: 1); sleep(0.1)"
    %w[pool.drain pool.shutdown.stuck.zero? pool.rest].each do |call|
      out = in_child(<<~RUBY, before:)
        began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        p #{call}
        exit(Process.clock_gettime(Process::CLOCK_MONOTONIC) - began < 0.7 ? 0 : 1)
      RUBY
      assert_equal "true\n0\n", out, call
    end
  end
end
