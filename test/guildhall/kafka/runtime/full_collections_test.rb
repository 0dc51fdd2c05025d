# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaFullCollectionsTest < GuildhallTest
  FullCollections = Guildhall::Kafka::Runtime::FullCollections
  MIB = 1_048_576
  PAGE = GC::INTERNAL_CONSTANTS.fetch(:HEAP_PAGE_SIZE)

  # A collector that does nothing; the test says how memory has grown, and what Ruby wants.
  class Collector
    attr_accessor :malloc, :pages, :wanted, :count
    attr_reader :allowed, :started, :total_time

    def initialize
      @majors = @malloc = @pages = @count = @total_time = 0
      @allowed = true
      @started = []
    end

    def stat(key) = {major_gc_count: @majors, heap_allocated_pages: @pages, oldmalloc_increase_bytes: @malloc}.fetch(key)
    def latest_gc_info(key) = (@wanted if key == :need_major_by)
    def config(rgengc_allow_full_mark:) = @allowed = rgengc_allow_full_mark

    # A full one, as from the application.
    def run
      @majors += 1
      @malloc = 0
      @total_time += 250_000_000
    end

    def start(immediate_sweep:)
      @started << immediate_sweep
      run
    end
  end

  Memory = Struct.new(:limit, :left, :resident)
  Clock = Struct.new(:now)

  # Events are published at once.
  class Runtime
    attr_reader :events

    def initialize = @events = []
    def timer = self
    def after(_seconds) = yield
    def publish(name, **payload) = @events << [name, payload]
    def error(error, type) = @events << [error.class, type]
  end

  def setup
    @gc = Collector.new
    @memory = Memory.new(nil, nil, 100 * MIB)
    @clock = Clock.new(0)
    @runtime = Runtime.new
    @idle = false
    @full = deferring
    @runtime.events.clear
  end

  # As one that was started, without its thread.
  def deferring
    FullCollections.new(@runtime, memory: @memory, gc: @gc, clock: @clock) { @idle }.tap { |full| full.send(:switch, :deferred) }
  end

  def look(malloc: 0, pages: 0)
    @gc.malloc += malloc
    @gc.pages += pages
    @gc.count += 1
    @full.look
    @gc.started.size
  end

  def test_nothing_is_collected_while_memory_does_not_grow
    refute @gc.allowed
    assert_equal 0, look
    assert_equal 0, look(malloc: 255 * MIB)
  end

  def test_memory_has_grown_as_far_as_it_may_so_that_a_consumer_at_work_is_held_up
    assert_equal 1, look(malloc: 200 * MIB, pages: 56 * MIB / PAGE)
    assert_equal({idle: 0, memory: 1, time: 0}, @full.counts)
    assert_equal [false], @gc.started, "those who need the room sweep it"
    assert_equal 1, look(malloc: 255 * MIB), "pages count from the last one on"
    assert_equal 2, look(malloc: 1 * MIB)
  end

  def test_a_large_process_may_grow_by_its_size
    @memory.resident = 1000 * MIB
    @full = deferring
    assert_equal 0, look(malloc: 999 * MIB)
    assert_equal 1, look(malloc: 1 * MIB)
  end

  def test_half_of_what_is_left_of_the_limit_is_the_bound
    @memory.limit = 400 * MIB
    @memory.left = 200 * MIB
    assert_equal 0, look(malloc: 99 * MIB)
    assert_equal 1, look(malloc: 1 * MIB)
    @memory.left = 100 * MIB
    assert_equal 2, look(malloc: 50 * MIB)
  end

  def test_short_memory_is_left_to_ruby_until_there_is_more_of_it
    @memory.limit = 400 * MIB
    @memory.left = 49 * MIB
    assert_equal 0, look(malloc: 100 * MIB)
    assert @gc.allowed
    assert_equal :left_to_ruby, @full.state
    @memory.left = 60 * MIB
    look
    assert @gc.allowed, "not with each batch that comes and goes"
    @memory.left = 100 * MIB
    look
    refute @gc.allowed
    assert_equal([["garbage_collection.switched", {state: :left_to_ruby, left: 49 * MIB, limit: 400 * MIB}],
                  ["garbage_collection.switched", {state: :deferred, left: 100 * MIB, limit: 400 * MIB}]],
      @runtime.events.first(2))
  end

  def test_nobody_is_held_up_where_no_consumer_is_at_work
    assert_equal 0, look(malloc: 64 * MIB)
    @idle = true
    assert_equal 1, look
    assert_equal [true], @gc.started, "all of it is swept at once"
    assert_equal 1, look(malloc: 63 * MIB)
  end

  # From 10 seconds on, doubled each time; twice as long while consumers are at work.
  def test_time
    @idle = true
    @clock.now = 9
    assert_equal 0, look
    @clock.now = 10
    assert_equal 1, look
    @clock.now = 29
    assert_equal 1, look
    @clock.now = 30
    assert_equal 2, look
    @idle = false
    @clock.now = 109
    assert_equal 2, look
    @clock.now = 110
    assert_equal 3, look
    10.times do
      @clock.now += 1200
      look
    end
    assert_equal({idle: 2, memory: 0, time: 11}, @full.counts)
    @clock.now += 1199
    assert_equal 13, look, "10 minutes at most"
  end

  def test_one_that_the_application_has_run_counts
    look(malloc: 200 * MIB)
    @gc.run
    assert_equal 0, look(malloc: 200 * MIB)
  end

  def test_what_was_put_off_is_reported_with_the_next_one
    @gc.wanted = :oldgen
    look
    look
    @full.look # without a collection in between
    @gc.wanted = nil
    look(malloc: 256 * MIB)
    @gc.wanted = :nofree
    look(malloc: 256 * MIB)
    assert_equal([["garbage_collection.run", {reason: :memory, seconds: 0.25, put_off: 2}],
                  ["garbage_collection.run", {reason: :memory, seconds: 0.25, put_off: 1}]], @runtime.events)
    assert_equal [3, 0.5], [@full.put_off, @full.seconds]
  end

  def test_where_it_fails_ruby_collects_again
    def @memory.left = raise("boom")
    @full.start
    eventually(60) { @full.state == :left_to_ruby }
    assert @gc.allowed
    assert_includes @runtime.events, [RuntimeError, "garbage_collection"]
    @full.stop
  end

  def test_who_hears_of_an_error_may_hang
    gc = @gc
    heard = Thread::Queue.new
    @runtime.define_singleton_method(:error) { |*| heard << gc.allowed }
    @memory.define_singleton_method(:left) { raise "as asked" }
    full = deferring.start
    assert heard.pop(timeout: 60)
  ensure
    full&.stop
  end

  def test_where_its_thread_is_killed_ruby_collects_again
    @full.start
    assert_equal :deferred, @full.state
    thread = Thread.list.find { |one| @full.include?(one) }
    eventually(60) { thread.stop? }
    thread.kill
    eventually(60) { @full.state == :left_to_ruby }
    assert @gc.allowed
    @full.stop
  end

  def test_what_is_left_of_the_smaller_limit_counts
    group, machine = Guildhall::Kafka::Reporting::ProcessMemory.then { |memory| [memory.limit_and_used.first, memory.machine.first] }
    memory = FullCollections::Memory.new(processes: 2, own: 1 << 50)
    assert_equal [1 << 50, *group&./(2), *machine&./(2)].min, memory.limit
    assert_operator memory.left, :<, memory.limit
    assert_equal 1, FullCollections::Memory.new(own: 1).limit
    assert_nil FullCollections::Memory.new.left unless group || machine
  end

  # A process without a control group would otherwise grow by as much as it has, on a machine that has not that much.
  def test_the_memory_of_the_machine_is_a_limit
    skip "no /proc/meminfo" unless File.exist?("/proc/meminfo")

    total = File.read("/proc/meminfo")[/MemTotal: +(\d+)/, 1].to_i * 1024
    memory = FullCollections::Memory.new
    assert_operator memory.limit, :<=, total
    assert_includes 0..total, memory.left
  end

  # A list whose first element has grown old, and is dropped: minor collections keep all that is added to it.
  LEAK = <<~'RUBY'
    require "guildhall"
    require "guildhall/kafka/runtime/full_collections"
    MIB = 1_048_576
    Node = Struct.new(:payload, :following)
    Runtime = Data.define do
      def timer = nil
      def error(error, _type) = raise(error)
    end
    Memory = Data.define(:limit, :left, :resident)

    # The most that has come, in MB, while 200 MB pass through a list of which only the end is wanted.
    def growth
      last = Node.new
      4.times { GC.start }
      20_000.times.map do |index|
        last = last.following = Node.new("x" * 10_000)
        yield if (index % 50).zero?
        GC.stat(:oldmalloc_increase_bytes)
      end.max / MIB
    end
    memory = Memory.new(limit: 64 * MIB, left: 32 * MIB, resident: 0)
    full = Guildhall::Kafka::Runtime::FullCollections.new(Runtime.new, memory:) { false }
    full.send(:switch, :deferred)
    puts growth {} > 180
    bounded = growth { full.look }
    puts bounded < 32, full.counts[:memory] > 5
    full.stop
    puts GC.config[:rgengc_allow_full_mark]
  RUBY

  def test_a_leak_is_collected_long_before_the_limit
    skip FullCollections.refusal if FullCollections.refusal
    assert_equal "true\ntrue\ntrue\ntrue\n", assert_ruby(LEAK, gems: false)
  end

  FORKED = <<~'RUBY'
    require "guildhall"
    require "guildhall/kafka/runtime/full_collections"
    Runtime = Data.define { def timer = nil }
    collections = Guildhall::Kafka::Runtime::FullCollections
    Memory = Data.define(:limit, :left, :resident)
    full = collections.new(Runtime.new, memory: Memory.new(limit: nil, left: nil, resident: 0)) { false }.start
    Process.wait(fork { puts GC.config[:rgengc_allow_full_mark] })
    puts GC.config[:rgengc_allow_full_mark]
    full.stop
  RUBY

  def test_a_process_that_is_forked_has_its_collections
    skip FullCollections.refusal if FullCollections.refusal
    assert_equal "true\nfalse\n", assert_ruby(FORKED, gems: false)
  end
end
