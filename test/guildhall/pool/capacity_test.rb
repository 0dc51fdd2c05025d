# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/pool_tasks"
require "guildhall/queue"
require "objspace"
require "tmpdir"

# What happens when more is dispatched than fits, and in which order it is done.
class PoolCapacityTest < GuildhallTest
  include PoolTasks

  # Fills both workers and the line.
  def saturated(**)
    pool = Guildhall::Pool.new(workers: 1, capacity: 2, **)
    busy = pool.dispatch([0.4], Sleepy, parallel: true)
    eventually { pool.stats[:busy] == 1 && pool.depth.zero? }
    waiting = pool.dispatch([0.01, 0.01], Sleepy, parallel: true)
    assert_predicate pool, :saturated?
    assert_equal 2, pool.depth
    yield pool, [busy, waiting]
  ensure
    pool.shutdown(timeout: 5)
  end

  def test_overflow_is_deferred
    saturated do |pool, futures|
      names = []
      pool.instrumentation.subscribe("pool.saturated") { |event| names << event.payload[:payloads] }
      future = pool.dispatch(%w[a b c], WhichRactor, parallel: true)
      assert_predicate future, :deferred?
      assert_equal [:main], future.value.uniq
      assert_equal [3], names
      futures.each(&:value)
    end
  end

  def test_overflow_is_rejected
    saturated(overflow: :reject) do |pool, futures|
      error = assert_raises(Guildhall::PoolSaturatedError) { pool.dispatch(%w[a], Upcase, parallel: true) }
      assert_includes error.message, "capacity: 2"
      futures.each(&:value)
    end
  end

  def test_overflow_waits_until_its_deadline
    saturated(overflow: :wait, overflow_timeout: 0.02) do |pool, _futures|
      assert_raises(Guildhall::PoolSaturatedError) { pool.dispatch(%w[a], Upcase, parallel: true) }
    end
    saturated(overflow: :wait, overflow_timeout: 10) do |pool, _futures|
      assert_equal [:worker], pool.dispatch(%w[a], WhichRactor, parallel: true).value
    end
  end

  # It cannot come into line any more: its reader runs it.
  def test_a_pool_that_is_shut_down_or_rests_leaves_what_waits_for_room_to_its_reader
    {shutdown: 0, rest: 5}.each do |ending, timeout|
      saturated(overflow: :wait, overflow_timeout: 60) do |pool, futures|
        waiting = Thread.new { pool.dispatch([0.001, 0.002], Sleepy, parallel: true) }
        eventually { waiting.stop? }
        pool.public_send(ending, timeout:)
        assert waiting.join(60), "#{ending}: it still waits for room"
        assert_predicate waiting.value, :deferred?
        assert_equal [0.001, 0.002], waiting.value.value
        futures.each(&:value)
      end
    end
  end

  # Notes the order in which payloads ran, in a file.
  class Noted
    def initialize(path)
      @path = path.dup.freeze
      freeze
    end

    def call(payload)
      sleep(0.005)
      File.write(@path, "#{payload}\n", mode: "a")
    end
  end

  def test_sources_take_turns
    order = order_of do |pool, task|
      big = pool.dispatch(["big"] * 20, task, source: :big, parallel: true, slice: 1)
      small = pool.dispatch(["small"] * 3, task, source: :small, parallel: true, slice: 1)
      [big, small]
    end
    assert_operator order.rindex("small"), :<, 9
  end

  def test_batches_of_one_source_stay_in_line
    order = order_of do |pool, task|
      [pool.dispatch(["first"] * 5, task, source: 1, parallel: true, slice: 1),
       pool.dispatch(["second"] * 5, task, source: 1, parallel: true, slice: 1)]
    end
    assert_equal order.sort, order
  end

  def test_priority_gives_more_slices_a_turn_and_starves_no_source
    order = order_of do |pool, task|
      [pool.dispatch(["low"] * 6, task, source: :low, parallel: true, slice: 1),
       pool.dispatch(["high"] * 20, task, source: :high, priority: 4, parallel: true, slice: 1)]
    end
    assert_operator order.first(11).count("high"), :>=, 7
    assert_operator order.index("low"), :<, 6
  end

  # In a String's flags Ruby keeps, among other things, whether it has an object_id.
  def test_nothing_is_written_into_payloads_that_another_ractor_may_use
    strings = Guildhall::Queue.new(1)
    ids = Guildhall::Queue.new(1)
    ractor = Ractor.new(strings, ids) do |strings, ids|
      while (string = strings.pop)
        20_000.times { nil }
        ids << string.object_id
      end
    end
    pool = Guildhall::Pool.new(workers: 1)
    300.times do |number|
      string = Ractor.make_shareable("payload number #{number} with some length")
      list = Array.new(200_000, string)
      strings << string
      pool.dispatch(list, Upcase, parallel: false)
      assert_equal ids.pop, string.object_id
    end
    strings << nil
    ractor_value(ractor)
  ensure
    pool.shutdown(timeout: 5)
  end

  def test_an_end_of_a_string_gets_contents_of_its_own
    whole = Class.new(String) { attr_accessor :note }.new("x" * 10_000)
    whole.note = [+"unshareable"]
    part = whole.freeze[100..].freeze
    Guildhall::Pool.open(workers: 1) { |pool| pool.dispatch([part], Upcase, parallel: true).wait }
    assert Ractor.shareable?(part)
    refute_includes ObjectSpace.dump(part), '"shared":true' if RUBY_VERSION >= "4" # before, Ruby itself leaves it so
  end

  # The pool reports the memory of batches and transfers to Ruby, so that Ruby collects those that nobody reads.
  def test_batches_that_nobody_reads_are_collected
    counts = assert_ruby(<<~RUBY, options: %w[-W:no-experimental])
      require "guildhall"
      module Nothing
        def self.call(_) = nil
      end
      module Long
        def self.call(_) = "x" * 1_000_000
      end
      NUMBERS = Array.new(100_000) { it }
      TEXTS = ["[\#{(["12345"] * 20_000).join(",")}]".freeze] * 5
      Guildhall::Pool.open(workers: 1) do |pool|
        ways = [-> { pool.dispatch(NUMBERS, Nothing, parallel: false) }] +
               [[TEXTS, Guildhall::JSON.lazy], [TEXTS, Guildhall::JSON], [[1, 2], Long]].map { |batch| -> { pool.dispatch(*batch, parallel: true).wait } }
        ways.each do |way|
          GC.start
          300.times { way.call }
          print ObjectSpace.each_object(Guildhall::Pool::Batch).count, " "
        end
      end
    RUBY
    counts.split.each { |count| assert_operator count.to_i, :<, 150, counts }
    assert_equal 4, counts.split.size
  end

  # Ractor.make_shareable holds a lock of Ruby's while it walks through a batch, and allocates memory: with a limit this small each
  # allocation is a reason to collect garbage, for which it would wait for a worker that waits for it.
  def test_dispatching_beside_a_collection_waits_for_nobody
    out = assert_ruby(<<~RUBY, env: {"RUBY_GC_MALLOC_LIMIT" => "2000", "RUBY_GC_MALLOC_LIMIT_MAX" => "2000"})
      GC.disable # Ruby 4.0.5 itself crashes when it collects garbage at each step while it compiles a file
      require "guildhall/pool"
      require "guildhall/json"
      GC.enable
      Warning[:experimental] = false
      pool = Guildhall::Pool.new(workers: 2)
      Ractor.new { loop { Array.new(10) { "x" * 500 } } }
      1_000.times { pool.dispatch(Array.new(100) { |number| +"[\#{number}]" }, Guildhall::JSON.lazy, parallel: true).wait }
      $stdout.syswrite("done")
      exit!(0)
    RUBY
    assert_equal "done", out
  end

  private

  # One worker, and a reader that does not help, so that the order is the queue's.
  def order_of
    Dir.mktmpdir do |folder|
      pool = Guildhall::Pool.new(workers: 1)
      task = Noted.new("#{folder}/order")
      blocker = pool.dispatch([0.1], Sleepy, parallel: true)
      eventually { pool.stats[:busy] == 1 }
      futures = yield(pool, task)
      eventually { [blocker, *futures].all?(&:ready?) }
      File.readlines("#{folder}/order", chomp: true)
    ensure
      pool.shutdown(timeout: 5)
    end
  end
end
