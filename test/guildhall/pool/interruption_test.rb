# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/pool_tasks"
require "timeout"

# Thread#raise, Thread#kill, Timeout, signals and throw, wherever a caller is; kills of the pool's own threads.
class PoolInterruptionTest < GuildhallTest
  include PoolTasks

  def setup
    @pool = Guildhall::Pool.new(workers: 2)
  end

  def teardown
    @pool.shutdown(timeout: 5)
  end

  # A pool that knows that three payloads take no time, and runs them in the caller, without a batch.
  def brief
    Guildhall::Pool.new(workers: 0).tap { |pool| pool.map([0] * 3, Sleepy) }
  end

  def test_a_time_out_ends_a_batch_that_was_thought_to_be_brief
    pool = brief
    assert_raises(Timeout::Error) { Timeout.timeout(0.05) { pool.map([0, 60, 0], Sleepy) } }
    future = pool.dispatch([0, 60, 0], Sleepy, parallel: false)
    assert_raises(Timeout::Error) { Timeout.timeout(0.05) { future.value } }
    assert_equal 0, future[2]
  end

  def test_ctrl_c_ends_a_batch_that_was_thought_to_be_brief
    pool = brief
    main = Thread.current
    Thread.new do
      sleep(0.001) until main.status == "sleep"
      sleep(0.02)
      Process.kill(:INT, Process.pid)
    end
    assert_raises(Interrupt) { pool.map([0, 60, 0], Sleepy) }
  end

  # Twenty seconds of work without a reader.
  def test_what_interrupts_a_map_cancels_what_had_not_begun
    [{}, {parallel: true}, {progress: ->(_, _) {}}].each do |options|
      assert_raises(Timeout::Error) { Timeout.timeout(0.1) { @pool.map([0.05] * 800, Sleepy, **options) } }
      assert @pool.drain(timeout: 5), options.inspect
    end
  end

  # In a process of its own: it would not end.
  def assert_ends(code, expected = "")
    out = assert_ruby(<<~RUBY)
      $LOAD_PATH.unshift("test")
      require "guildhall/pool"
      module Endless
        def self.call(payload)
          $stdout.puts("begun") && $stdout.flush if payload == 1
          nil while payload
        end
      end
      pool = Guildhall::Pool.new(workers: 0)
      future = pool.dispatch([1], Endless)
      thread = Thread.new { #{code.include?("map") ? "pool.map([1], Endless)" : "future.value"} }
      thread.report_on_exception = false
      sleep(0.01) until thread.status == "run" && thread.backtrace.to_s.include?("Endless.call")
      #{code.delete_prefix("map ")}
    RUBY
    assert_equal "begun\n#{expected}", out
  end

  def test_the_process_ends_although_a_reader_runs_an_endless_payload
    ["", "map "].each { |how| assert_ends("#{how}exit") }
  end

  def test_a_signal_ends_the_process_although_a_reader_runs_an_endless_payload
    ["", "map "].each do |how|
      assert_ends("#{how}trap(:TERM) { exit }; Process.kill(:TERM, Process.pid); sleep")
    end
  end

  def test_a_kill_ends_a_reader_that_runs_an_endless_payload
    ["", "map "].each { |how| assert_ends("#{how}p thread.kill.join(10).equal?(thread)", "true\n") }
  end

  # Has a deadline of its own.
  module OwnDeadline
    class Late < StandardError; end

    def self.call(seconds)
      Timeout.timeout(0.05, Late) { sleep(seconds) }
      :in_time
    rescue Late
      :late
    end
  end

  def test_a_tasks_own_time_out_is_its_own_inline_as_well
    skip "Ruby #{RUBY_VERSION} has no Timeout in a worker, so it is refused" if RUBY_VERSION.to_f < 4.0
    [{parallel: false}, {}].each do |how|
      assert_equal %i[late in_time], Guildhall::Pool.inline { @pool.map([60, 0], OwnDeadline, **how) }
    end
  end

  # Ruby cannot tell a Thread#raise from what the task raises.
  def test_thread_raise_acts_at_once_and_is_the_failure_of_the_payload_that_runs
    future = @pool.dispatch([60, 0], Sleepy, parallel: false)
    [-> { future.value }, -> { Guildhall::Pool.inline { @pool.map([60, 0], Sleepy) } }].each do |read|
      thread = Thread.new(&read)
      thread.report_on_exception = false
      eventually { thread.status == "sleep" }
      thread.raise(IOError, "from outside")
      assert_equal "from outside (payload 0)", assert_raises(IOError) { thread.value }.message
    end
    assert_equal ["IOError", 0], [future[0].error_class, future[1]]
  end

  def test_interrupts_that_may_come_only_where_a_call_blocks_end_a_wait
    held = Held.new(1, 2)
    busy = @pool.dispatch([1, 2], held, parallel: true, slice: 1)
    future = @pool.dispatch([0], Sleepy, parallel: true)
    [-> { future.value }, -> { future[0] }, -> { future.each_ready { nil } }, -> { future.each { nil } }].each do |wait|
      thread = Thread.new do
        Thread.handle_interrupt(IOError => :on_blocking) { wait.call }
      end
      thread.report_on_exception = false
      thread.raise(IOError, "from outside")
      assert_raises(IOError) { thread.value }
    end
    refute_predicate busy, :ready?
    held.open
    assert_equal [0], future.value
  end

  def test_a_killed_reader_leaves_its_batch_to_others
    held = Held.new(1)
    future = @pool.dispatch([1, 2, 3], held, parallel: false)
    reader = Thread.new { future.value }
    eventually { reader.status == "sleep" }
    reader.kill.join
    refute_predicate future, :ready?
    held.open
    assert_equal [1, 2, 3], future.value
  end

  # Throws to a `catch` of its caller, or ends its thread.
  module Leaving
    def self.call(payload)
      throw(:out, 1) if payload == "throw"
      Thread.exit if payload == "exit"
      payload
    end
  end

  def test_a_throw_to_the_callers_catch_is_a_failure_of_its_payload
    20.times { @pool.map(%w[a], Leaving) }
    [{}, {parallel: false}, {parallel: true}].each do |how|
      results = catch(:out) { @pool.results(%w[a throw b], Leaving, **how) }
      assert_equal "UncaughtThrowError", results[1].error_class
      assert_equal %w[a b], results.values_at(0, 2)
    end
  end

  # Thread#kill and a task that ends its thread look alike: as in a worker, the payload gets a second chance.
  def test_a_task_that_ends_the_thread_ends_two_readers_and_fails
    future = @pool.dispatch(%w[a exit b], Leaving, parallel: false)
    2.times { refute Thread.new { future.value }.value }
    assert_equal ["a", "Guildhall::WorkerDiedError", "b"], [future[0], future[1].error_class, future[2]]
  end

  def test_readers_wait_for_new_workers_rather_than_try_what_workers_die_of
    supervision = Thread::Queue.new
    @pool.instrumentation.subscribe { |event| supervision.pop if event.name == "pool.worker_died" }
    future = @pool.dispatch(%w[exit exit exit a], Leaving, parallel: true, slice: 1)
    eventually { @pool.stats[:workers].zero? }
    reader = Thread.new { future.results }
    refute reader.join(0.3)
    supervision.close
    assert_equal [*(["Guildhall::WorkerDiedError"] * 3), "a"], reader.value.map { |it| it.is_a?(String) ? it : it.error_class }
  end

  # Changes the Array that it is called for, in a way that reading it does not show.
  module Meddling
    LIST = [] # rubocop:disable Style/MutableConstant

    def self.call(payload)
      list = const_get(:LIST)
      list << "more" if payload == "grow" && list.size < 100
      list.clear if payload == "shrink"
      list.map! { "other" } if payload == "replace"
      payload.dup
    end
  end

  def test_a_task_that_changes_the_payloads_array_changes_nothing
    list = Meddling::LIST
    Guildhall::Pool.inline do
      20.times { @pool.map(%w[a], Meddling) }
      [{}, {parallel: false}].each do |how|
        %w[grow shrink replace].each do |kind|
          assert_equal [kind, kind, "b"], @pool.map(list.replace([kind, kind, "b"]), Meddling, **how)
        end
      end
      text = +"as it was"
      assert_equal ["replace", "as it was"], @pool.map(list.replace(["replace", text]), Meddling)
    end
  end

  # Changes the metadata while it is asked to prepare.
  class Preparing
    METADATA = [] # rubocop:disable Style/MutableConstant

    def call(payload, _metadata) = payload
    def prepare(_payloads) = METADATA.concat([1] * 1000)
  end

  def test_metadata_that_change_while_they_are_taken_in_are_refused
    error = assert_raises(Guildhall::ArgumentError) do
      @pool.dispatch(%w[a], Preparing.new.freeze, metadata: Preparing::METADATA.replace([1]))
    end
    assert_match(/metadata has changed/, error.message)
  end

  # Cannot be asked anything.
  class Mute < StandardError
    def message = raise(NotImplementedError)
    def backtrace = raise(NotImplementedError)
    def cause = raise(NotImplementedError)
  end

  module Muting
    def self.call(payload) = payload == "mute" ? raise(Mute) : payload
  end

  def test_an_exception_that_raises_when_it_is_asked_is_a_failure_nevertheless
    20.times { @pool.map(%w[a], Muting) }
    [{}, {parallel: false}, {parallel: true}].each do |how|
      results = @pool.results(%w[a mute b], Muting, **how)
      assert_equal "PoolInterruptionTest::Mute", results[1].error_class
      assert_equal %w[a b], results.values_at(0, 2)
      assert_equal 1, results[1].index
    end
  end

  def kill(name) = Thread.list.select { |thread| thread.name == name }.each { |thread| thread.kill.join }

  def test_callbacks_come_although_both_threads_of_the_pool_were_killed
    seen = Thread::Queue.new
    future = @pool.dispatch([0.1], Sleepy, parallel: true).on_complete { |done| seen << done.value }
    kill("guildhall supervisor")
    assert_equal [0.1], seen.pop(timeout: 60)
    continued = @pool.dispatch([0.1, "thread exit"], Trouble, parallel: true).then { :done }
    kill("guildhall supervisor")
    assert_raises(NoMethodError, Guildhall::WorkerDiedError) { continued.value(timeout: 60) }
    @pool.dispatch([0.1], Sleepy, parallel: true).on_complete { |done| seen << done.value }
    kill("guildhall notifier")
    assert_equal [0.1], seen.pop(timeout: 60)
    assert_predicate future, :ready?
  end

  def test_a_callback_comes_although_its_thread_was_killed_while_it_ran_a_deferred_batch
    seen = Thread::Queue.new
    @pool.map([0], Sleepy, parallel: true)
    @pool.dispatch([0.1, 0.1], Sleepy, parallel: false).on_complete { |done| seen << done.value }
    eventually { Thread.list.any? { |thread| thread.name == "guildhall notifier" && thread.status == "sleep" } }
    kill("guildhall notifier")
    assert_equal [0.1, 0.1], seen.pop(timeout: 60)
  end

  def test_what_a_continuation_raises_reaches_its_reader
    assert_raises(NotImplementedError) { @pool.dispatch(%w[a], Upcase).then { raise NotImplementedError }.value(timeout: 60) }
    assert_raises(Guildhall::TaskError) { @pool.dispatch(%w[a], Upcase).then { Thread.exit }.value(timeout: 60) }
    seen = Thread::Queue.new
    assert_output(nil, /NotImplementedError/) do
      @pool.dispatch(%w[a], Upcase).on_complete { raise NotImplementedError }
      @pool.dispatch(%w[a], Upcase).on_complete { seen << :next }
      assert_equal :next, seen.pop(timeout: 60)
    end
  end
end
