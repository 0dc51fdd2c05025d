# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/pool_tasks"

# What makes a pool pleasant: callbacks, streaming, tools, logging, events, reports, inline mode.
class PoolFeaturesTest < GuildhallTest
  include PoolTasks

  # A tool that cannot be shared: it counts, and keeps a Proc.
  class Tool
    def initialize(prefix, by: 1)
      @prefix = prefix
      @next = -> { @count = (@count || 0) + by }
    end

    def call(payload) = "#{@prefix}#{payload}#{@next.call.positive?}".freeze
  end

  # A logger for tests.
  class Lines
    attr_reader :lines

    def initialize
      @lines = []
      @gate = Mutex.new
    end

    def hold = @gate.lock
    def release = @gate.unlock
    def add(severity, text) = @gate.synchronize { @lines << [severity, text] }
    def debug(text = nil) = add(:debug, text || yield)
    def info(text = nil) = add(:info, text || yield)
    def warn(text) = add(:warn, text)
    def error(text) = add(:error, text)
  end

  module Chatty
    def self.call(payload)
      Guildhall.logger.info("saw #{payload}")
      Guildhall.logger.debug { "block #{payload}" }
      payload
    end
  end

  module Noisy
    def self.call(payload)
      3000.times { Guildhall.logger.info("x") }
      payload
    end
  end

  def setup
    @lines = Lines.new
    @pool = Guildhall::Pool.new(workers: 2, logger: @lines)
  end

  def teardown
    @pool.shutdown(timeout: 5)
  end

  def test_on_complete_and_then
    [true, false].each do |parallel|
      seen = Thread::Queue.new
      @pool.dispatch(%w[a b], Upcase, parallel:).on_complete { |future| seen << future.value }
      assert_equal %w[A B], seen.pop(timeout: 60)
      assert_equal "AB", @pool.dispatch(%w[a b], Upcase, parallel:).then(&:join).value(timeout: 60)
      assert_raises(RuntimeError) { @pool.dispatch(%w[standard], Trouble, parallel:).then(&:join).value(timeout: 60) }
    end
  end

  def test_tools_that_cannot_be_shared
    task = Guildhall::Task.per_worker(Tool, ">", by: 2)
    [true, false].each { |parallel| assert_equal [">atrue", ">btrue"], @pool.map(%w[a b], task, parallel:) }
    assert_raises(Guildhall::ArgumentError) { Guildhall::Task.per_worker(Object) }
    error = assert_raises(Guildhall::NotShareableError) { Guildhall::Task.per_worker(Tool, +"text") }
    assert_equal "arguments[0]", error.path
  end

  def test_tasks_log_to_the_applications_logger
    @pool.map(%w[a], Chatty, parallel: true)
    eventually { @lines.lines.size == 2 }
    assert_equal [[:info, "saw a"], [:debug, "block a"]], @lines.lines
    @pool.map(%w[b], Chatty, parallel: false)
    assert_equal [:info, "saw b"], @lines.lines[2]
  end

  def test_a_single_payload_in_the_callers_thread_logs_there_and_leaves_its_logger_as_it_was
    @pool.map(%w[a], Chatty)
    eventually { @lines.lines.size == 2 } # on trial, in a worker
    @pool.map(%w[b], Chatty)
    assert_equal [[:info, "saw b"], [:debug, "block b"]], @lines.lines.last(2)
    assert_nil Thread.current.thread_variable_get(:guildhall_logger)
  end

  def test_too_much_logging_is_dropped_and_counted
    @lines.hold # a logger that is busy: what the tasks log meanwhile does not fit
    @pool.map(%w[a b], Noisy, parallel: true)
    @lines.release
    eventually { @lines.lines.any? { |severity, text| severity == :warn && text.include?("were dropped") } }
  end

  def test_events
    events = Thread::Queue.new
    slices = Thread::Queue.new
    @pool.instrumentation.subscribe("pool.slice_finished") { |event| slices << event.payload }
    @pool.instrumentation.subscribe { |event| events << [event.name, event.payload] }
    @pool.map(%w[a b], Upcase, parallel: true, source: 7)
    @pool.map(%w[a b], Upcase, parallel: true)
    assert_equal ["pool.dispatched", {payloads: 2, source: 7, decision: "parallel: forced"}], events.pop(timeout: 60)
    names = []
    eventually { (names << events.pop(timeout: 0)&.first) && names.include?("pool.slice_finished") }
    slice = slices.pop(timeout: 60)
    assert_equal %i[worker first payloads seconds], slice.keys
    assert_includes 0..1, slice[:first] # there may be two
    assert_includes 1..2, slice[:payloads]
    @pool.map(%w[a b], Upcase, parallel: false)
    eventually { (names << events.pop(timeout: 0)&.first) && names.include?("pool.inlined") }
    @pool.shutdown
    eventually { (names << events.pop(timeout: 0)&.first) && names.include?("pool.shut_down") }
    assert_raises(Guildhall::ArgumentError) { @pool.instrumentation.subscribe("pool.nothing") }
  end

  def test_stats_and_report
    @pool.map(Array.new(64, "a"), Upcase, parallel: true)
    @pool.map(Array.new(64, "a"), Upcase, parallel: false)
    stats = eventually { @pool.stats.then { |seen| seen if seen[:by_workers] == 64 } } # workers account after they publish
    assert_equal [64, 64, 0.5], stats.values_at(:inlined, :by_workers, :inlined_share)
    assert_equal(64, stats[:by_worker].values.sum { |worker| worker[:payloads] })
    assert_operator stats[:run_seconds][:p99], :>, 0
    assert_operator stats[:gc_share], :<, 1
    @pool.map(Array.new(64, "a"), Upcase)
    assert_includes @pool.report.to_s, "PoolTasks::Upcase"
    assert_operator @pool.report.rows.first.inline_seconds, :>, 0
  end

  def test_inline_runs_everything_in_the_caller
    Guildhall::Pool.inline do
      assert_equal [:main], @pool.map(%w[a], WhichRactor, parallel: true)
      assert_equal "RuntimeError", @pool.results(%w[standard], Trouble, parallel: true).first.error_class
    end
    assert_equal [:worker], @pool.map(%w[a], WhichRactor, parallel: true)
    out = assert_ruby(<<~RUBY, env: {"GUILDHALL_INLINE" => "1"})
      $LOAD_PATH.unshift("test"); require "guildhall/pool"; require "support/pool_tasks"
      puts Guildhall::Pool.new.map(%w[a], PoolTasks::WhichRactor, parallel: true).inspect
    RUBY
    assert_equal "[:main]\n", out
  end

  def test_under_a_fiber_scheduler_other_fibers_go_on
    order = []
    Thread.new do
      Fiber.set_scheduler(MiniScheduler.new)
      Fiber.schedule { order << @pool.dispatch([0.2], Sleepy, parallel: true).value }
      Fiber.schedule { order << :other }
    end.join
    assert_equal [:other, [0.2]], order
  end

  def test_under_async_other_fibers_go_on_and_a_time_out_ends_the_wait
    out = assert_ruby(<<~RUBY)
      $LOAD_PATH.unshift("test")
      require "guildhall/pool"
      require "support/pool_tasks"
      require "async"
      Warning[:experimental] = false
      pool = Guildhall::Pool.new(workers: 2)
      Async do |task|
        future = pool.dispatch([0.3], PoolTasks::Sleepy, parallel: true)
        waiting = task.async { future.value }
        steps = 0
        5.times { task.async { sleep(0.001); steps += 1 }.wait }
        p steps, future.ready?
        begin
          task.with_timeout(0.01) { pool.dispatch([0.3], PoolTasks::Sleepy, parallel: true).value }
        rescue Async::TimeoutError
          puts "timed out"
        end
        p waiting.wait
      end
      pool.shutdown
    RUBY
    assert_equal "5\nfalse\ntimed out\n[0.3]\n", out
  end

  # As small as a scheduler can be: it only blocks and unblocks fibers.
  class MiniScheduler
    def initialize
      @ready = Thread::Queue.new
      @blocked = 0
    end

    def fiber(&block)
      Fiber.new(blocking: false, &block).tap(&:resume)
    end

    def block(_blocker, _timeout = nil)
      @blocked += 1
      Fiber.yield
      true
    end

    def unblock(_blocker, fiber)
      @ready << fiber
    end

    def run
      while @blocked.positive?
        fiber = @ready.pop
        @blocked -= 1
        fiber.resume
      end
    end
    alias close run

    def kernel_sleep(seconds) = block(:sleep, seconds)
    def io_wait(*) = raise(NotImplementedError)
    def fiber_interrupt(*) = nil
  end
end
