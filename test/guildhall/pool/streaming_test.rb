# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/pool_tasks"

# Inputs of any length: order, memory, slow sources, early leaving, errors of the source.
class PoolStreamingTest < GuildhallTest
  include PoolTasks

  def setup
    @pool = Guildhall::Pool.new(workers: 2)
  end

  def teardown
    @pool.shutdown(timeout: 5)
  end

  def test_values_come_in_order
    numbers = (1..250).map(&:to_s)
    [true, false, nil].each do |parallel|
      [numbers, numbers.each, numbers.lazy].each do |payloads|
        assert_equal numbers, @pool.each(payloads, Upcase, chunk: 7, parallel:).to_a
      end
    end
  end

  def test_lines_of_a_file
    File.open(__FILE__) { |file| assert_equal File.readlines(__FILE__).map(&:upcase), @pool.each(file, Upcase, chunk: 10).to_a }
    assert_equal File.readlines(__FILE__).map(&:upcase), @pool.map(File.foreach(__FILE__), Upcase)
  end

  def test_without_a_task_the_block_is_the_task
    assert_same @pool, @pool.each(%w[a b], &self.class.trouble)
    error = assert_raises(RuntimeError) { @pool.each(["standard"], &self.class.trouble) }
    assert_includes error.message, "standard"
  end

  # Ruby 3.4 keeps a block's self, which has to be shareable: as it is in a class's body.
  def self.trouble = proc { |name| PoolTasks::Trouble.call(name) }

  def test_the_first_failure_is_raised_when_it_comes
    seen = []
    error = assert_raises(CustomError) { @pool.each(%w[a b custom c], Trouble, chunk: 1) { |value| seen << value } }
    assert_equal 2, error.payload_index
    assert_equal %w[A B], seen
    assert @pool.drain(timeout: 5)
  end

  def test_results_with_failures_and_places
    outcomes = @pool.each_result(%w[a b custom c].each, Trouble, chunk: 2).to_a
    assert_equal [["A", 0], ["B", 1], ["C", 3]], outcomes.values_at(0, 1, 3)
    failure, index = outcomes[2]
    assert_equal [2, 2], [index, failure.index]
  end

  def test_memory_is_bounded
    read = 0
    endless = (1..).lazy.map { |number| (read += 1) && number.to_s }
    assert_equal %w[1 2 3], @pool.lazy(endless, Upcase, chunk: 5).first(3)
    ahead = [2 * @pool.settings.workers, 4].max # batches; and two chunks wait
    assert_operator read, :<=, (ahead * 5) + (2 * 5) + 5
  end

  def test_a_slow_source_holds_up_no_result
    [true, false].each do |ordered|
      gate = Thread::Queue.new
      lines = Enumerator.new { |out| %w[a b].each { |line| gate.pop && (out << line) } }
      seen = Thread::Queue.new
      reading = Thread.new { @pool.each(lines, Upcase, ordered:) { |value| seen << value } }
      gate << true
      assert_equal "A", seen.pop(timeout: 60), "the first outcome waits for the second payload"
      gate << true
      assert_equal "B", seen.pop(timeout: 60)
      assert reading.join(60)
    end
  end

  def test_unordered_results_come_as_they_are_ready
    held = Held.new(1)
    seen = []
    @pool.each([1, 2, 2], held, ordered: false, parallel: true, chunk: 1, slice: 1, timeout: 60) { |value| (seen << value).size == 2 && held.open }
    assert_equal [2, 2, 1], seen
    assert_equal [0.5, 0, 0], @pool.each([0.5, 0, 0], Sleepy, parallel: true, chunk: 1, slice: 1).to_a
    places = @pool.each_result([0.3, 0, 0], Sleepy, ordered: false, parallel: true, slice: 1).to_a.map(&:last)
    assert_equal [1, 2, 0], places.sort_by { |place| place.zero? ? 1 : 0 }
  end

  def test_leaving_early_cancels_what_was_not_begun
    leaving = [
      -> { @pool.each([0.05] * 2000, Sleepy, parallel: true, slice: 1, chunk: 500) { break } },
      -> { @pool.each(([0.05] * 2000).each, Sleepy, parallel: true, slice: 1, chunk: 500) { raise KeyError } rescue nil }, # rubocop:disable Style/RescueModifier
      -> { @pool.lazy([0.05] * 2000, Sleepy, parallel: true, slice: 1, chunk: 500).first(3) }
    ]
    leaving.each do |leave|
      leave.call
      began = Guildhall::Clock.now
      assert @pool.drain(timeout: 60)
      assert_operator Guildhall::Clock.now - began, :<, 10 # the first chunks alone would take 12 s, all of it 50
    end
  end

  def test_what_the_source_raises_comes_after_its_values
    lines = Enumerator.new { |out| (out << "a") && raise(IOError, "the disk") }
    seen = []
    assert_raises(IOError) { @pool.each(lines, Upcase) { |value| seen << value } }
    assert_equal ["A"], seen
    assert_raises(Guildhall::TaskError) { @pool.map(Enumerator.new { Thread.exit }, Upcase) }
  end

  # The collector may take words on a stack for some of them, and what they refer to; not for most of them.
  def test_an_enumerator_that_is_dropped_half_way_leaves_no_thread
    before = Thread.list
    readers = -> { (Thread.list - before).select { |thread| thread.name == "guildhall chunk reader" } }
    stop = Guildhall::Clock.now + 30
    dropped = 0
    until (dropped >= 10 && readers.call.size <= dropped / 2) || Guildhall::Clock.now > stop
      Thread.new { assert_equal "A", @pool.each(%w[a].cycle, Upcase).next }.join
      dropped += 1
      GC.start
      sleep(0.01)
    end
    assert_operator readers.call.size, :<=, dropped / 2
  ensure
    readers&.call&.each { |thread| thread.kill.join }
  end

  def test_without_a_task_there_is_nothing_to_do
    assert_raises(Guildhall::ArgumentError) { @pool.each([1]) }
  end

  # On a busy machine two payloads may take longer than the shortest of them.
  def test_a_time_out
    seen = []
    [0.3, 3, 30].find do |timeout|
      seen.clear
      assert_raises(Timeout::Error) { @pool.each([0, 0, 2 * timeout], Sleepy, parallel: true, chunk: 1, timeout:) { |value| seen << value } }
      seen.size == 2
    end
    assert_equal [0, 0], seen
    endless = Enumerator.new { sleep }
    assert_raises(Guildhall::TimeoutError) { @pool.map(endless, Upcase, timeout: 0.1) }
  end

  def test_dropped_payloads_are_left_out_of_values_only
    keep = Guildhall.select { |text| text != "b" } # rubocop:disable Style/InverseMethods
    assert_equal %w[a c], @pool.each(%w[a b c], keep).to_a
    assert_equal [1], @pool.each_result(%w[a b c], keep).filter_map { |outcome, index| index if Guildhall::DROPPED.equal?(outcome) }
  rescue Guildhall::NotShareableError
    raise if RUBY_VERSION.to_f >= 4.0 # where a block's self is left out
  end
end
