# frozen_string_literal: true

require "test_helper"
require "guildhall/leak_check"
require "guildhall/kafka"
require "logger"
require "stringio"

class LeakCheckTest < GuildhallTest
  # As in a consumer that gives each instance a thread, and whose instances are new after each rebalance.
  class Processor
    LINE = __LINE__ + 4

    def initialize
      @queue = Thread::Queue.new
      @worker = Thread.new { work }
    end

    def call(events) = @queue << events.join("-")
    def stop = @queue.close && @worker.join

    private

    def work
      while (result = @queue.pop)
        result.upcase
      end
    end
  end

  class EventsConsumer < Guildhall::Kafka::Consumer
    attr_reader :processor

    def initialize(...)
      super
      @processor = Processor.new
    end

    def consume = @processor.call(messages.payloads)
  end

  def teardown
    @threads&.each(&:kill)&.each(&:join)
    @processors&.each(&:stop)
    super
  end

  def test_returns_the_blocks_value
    assert_equal 7, Guildhall::LeakCheck.check { 7 }
  end

  def test_names_threads_by_creation_site
    error = assert_raises(Guildhall::LeakError) { Guildhall::LeakCheck.check(grace: 0) { @threads = Array.new(3) { Thread.new { sleep } } } }
    leak = error.leaks.fetch(0)
    assert_equal [:thread, "#{__FILE__}:#{__LINE__ - 2}", 3], [leak.kind, leak.site, leak.count]
    assert_match(/left behind: 3 threads created at #{Regexp.escape(leak.site)}/, error.message)
  end

  def test_names_ractors
    queue = Guildhall::Queue.new(1)
    error = assert_raises(Guildhall::LeakError) { Guildhall::LeakCheck.check(grace: 0) { @ractor = Ractor.new(queue) { |one| one.pop } } }
    assert_equal([[:ractor, "#{__FILE__}:#{__LINE__ - 1}"]], error.leaks.map { |leak| [leak.kind, leak.site] })
  ensure
    queue.push(1)
    ractor_value(@ractor)
  end

  # As consumers number them.
  def test_names_of_their_own_do_not_divide_a_site
    growth = Guildhall::LeakCheck.growth(grace: 0) do
      @threads = Array.new(3) { |number| Thread.new { sleep }.tap { |thread| thread.name = "order worker #{number}" } }
    end
    assert_equal([[:thread, "#{__FILE__}:#{__LINE__ - 2}", 3]], growth.leaks.map { |leak| [leak.kind, leak.site, leak.count] })
  end

  def test_ractors_with_names_of_their_own
    queue = Guildhall::Queue.new(2)
    growth = Guildhall::LeakCheck.growth(grace: 0) { @ractors = Array.new(2) { |number| Ractor.new(queue, name: "worker #{number}") { |one| one.pop } } }
    assert_equal([[:ractor, "#{__FILE__}:#{__LINE__ - 1}", 2]], growth.leaks.map { |leak| [leak.kind, leak.site, leak.count] })
  ensure
    2.times { queue.push(1) }
    @ractors.each { |ractor| ractor_value(ractor) }
  end

  def test_names_descriptors
    growth = Guildhall::LeakCheck.growth(grace: 0) { @file = File.open(__FILE__) }
    skip "no /proc here" unless File.directory?("/proc/self/fd")
    assert_equal([[:descriptor, __FILE__, 1]], growth.leaks.map { |leak| [leak.kind, leak.site, leak.count] })
  ensure
    @file.close
  end

  def test_waits_for_what_is_about_to_end
    assert_equal :value, Guildhall::LeakCheck.check { Thread.new { sleep(0.05) } && :value }
  end

  # A thread that ended has made room for another one.
  def test_one_for_another_is_no_leak
    before = Thread.new { sleep }
    Guildhall::LeakCheck.check(grace: 0) do
      before.kill.join
      @threads = [Thread.new { sleep }]
    end
  end

  # In a process of its own: what other tests have used may be given back at any time.
  KEPT = <<~'RUBY'
    require "guildhall/leak_check"
    garbage = Array.new(20) { "x" * 5_000_000 }
    garbage.clear
    begin
      Guildhall::LeakCheck.check(grace: 0, memory: 10_000_000) do
        @text = "x" * 50_000_000
        GC.start if ARGV.any?
      end
    rescue Guildhall::LeakError => error
      print error.message, error.leaks
    end
  RUBY

  def test_memory_has_a_limit_where_one_is_given
    skip "no /proc here" if Guildhall::LeakCheck.snapshot.memory.zero?
    assert_match(/\d+\.\d MB of memory\[\]\z/, assert_ruby(KEPT))
  end

  def test_garbage_of_before_does_not_hide_what_is_kept
    skip "no /proc here" if Guildhall::LeakCheck.snapshot.memory.zero?
    assert_match(/MB of memory/, assert_ruby(KEPT, "collect"))
  end

  def test_a_consumer_that_leaks_a_thread_at_each_rebalance
    @processors = []
    reports = []
    watcher = Guildhall::LeakCheck.watch(every: 60, least: 5) { |growth| reports << growth }
    12.times do
      @processors << EventsConsumer.allocate.tap { |consumer| consumer.send(:initialize) }.processor
      watcher.look
    end
    assert_equal(Array.new(8) { |index| 5 + index }, reports.map { |growth| growth.leaks.fetch(0).count })
    assert_equal "#{__FILE__}:#{Processor::LINE}", reports.last.leaks.fetch(0).site
  ensure
    watcher.stop
  end

  def test_watching_says_nothing_twice
    reports = Thread::Queue.new
    watcher = Guildhall::LeakCheck.watch(every: 0.005, least: 2) { |growth| reports << growth.to_s }
    @threads = Array.new(2) { Thread.new { sleep } }
    assert_match(/2 threads created at/, reports.pop(timeout: 60))
    5.times { watcher.look }
    assert_empty reports
  ensure
    watcher.stop
  end

  def test_watching_logs
    out = StringIO.new
    watcher = Guildhall::LeakCheck.watch(every: 60, least: 1, logger: Logger.new(out))
    @threads = [Thread.new { sleep }]
    watcher.look
    assert_match(/WARN.*guildhall: grown since watching began: 1 thread created at/, out.string)
  ensure
    watcher.stop
  end

  # A process that has no file descriptor left.
  def test_watching_goes_on_after_a_look_that_failed
    out = assert_ruby(<<~RUBY)
      require "guildhall/leak_check"
      reports = Thread::Queue.new
      failures = Thread::Queue.new
      Warning.define_singleton_method(:warn) { |text, **| failures << text }
      watcher = Guildhall::LeakCheck.watch(every: 0.01, least: 2) { |growth| reports << growth.to_s }
      limits = Process.getrlimit(:NOFILE)
      Process.setrlimit(:NOFILE, 3, limits.last)
      failed = failures.pop(timeout: 60)
      Process.setrlimit(:NOFILE, *limits)
      threads = Array.new(2) { Thread.new { sleep } }
      puts failed, reports.pop(timeout: 60)
    RUBY
    assert_match(/guildhall: looking for leaks raised Errno::EMFILE/, out)
    assert_match(/2 threads created at/, out)
  end

  def test_wrong_settings
    assert_raises(Guildhall::ArgumentError) { Guildhall::LeakCheck.watch(every: 0) }
    assert_raises(Guildhall::ArgumentError) { Guildhall::LeakCheck.watch(least: 0) }
  end

  def test_minitest
    out, = run_ruby(<<~RUBY)
      require "minitest/autorun"
      require "guildhall/leak_check"
      Guildhall::LeakCheck.send(:remove_const, :GRACE)
      Guildhall::LeakCheck::GRACE = 0
      class Leaking < Minitest::Test
        include Guildhall::LeakCheck::Minitest
        def test_leaks = Thread.new { sleep }
        def test_does_not = assert(true)
      end
    RUBY
    assert_match(/2 runs, \d assertions, 1 failures/, out)
    assert_match(/left behind: 1 thread created at -e:8/, out)
  end

  def test_rspec
    out, = run_ruby(<<~RUBY)
      require "guildhall/leak_check/rspec"
      Guildhall::LeakCheck.send(:remove_const, :GRACE)
      Guildhall::LeakCheck::GRACE = 0
      RSpec.describe("a thread") do
        it("leaks") { Thread.new { sleep } }
        it("does not") { true }
      end
      RSpec::Core::Runner.run([])
    RUBY
    assert_match(/2 examples, 1 failure/, out)
    assert_match(/left behind: 1 thread created at -e:6/, out)
  end
end
