# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/c_program"
require "support/pool_tasks"

# Lines of batches, the turns of their sources, and what it costs to queue one: as many steps whatever waits.
class PoolFairQueueTest < GuildhallTest
  include CProgram
  include PoolTasks

  LONGEST_PATH = 33

  def setup
    @queue = Guildhall::Pool::FairQueue.build(1_000_000, 2)
    @queue.target_worker_count = 1
    @runnable = Guildhall::Pool::TaskRegistry.new[Upcase]
  end

  # Each batch has a payload that names its source.
  def push(source, payload = source.to_s, weight: 1)
    batch = Guildhall::Pool::Batch.build(@queue, @runnable, [payload], nil, false, true, nil, 1, source, weight)
    assert_equal true, @queue.push(batch)
    batch
  end

  # @return [Array<String>] the payloads in the order in which a worker comes to them
  def order(batches)
    slot = Guildhall::Pool::WorkerSlot.build(@queue)
    seen = []
    batches.size.times do
      assert slot.take
      slot.work
      seen.concat(batches.select(&:complete?).map { |batch| batch.at(0, nil) } - seen)
    end
    seen
  end

  # Sources looked at while the block queues.
  def compared
    before = @queue.sources_compared
    yield
    @queue.sources_compared - before
  end

  def test_a_batch_without_a_source_looks_for_none
    @batches = Array.new(3_000) { |number| push(nil, number.to_s) }
    assert_equal 0, @queue.sources_compared
    push("one")
    assert_equal 0, @queue.sources_compared
    assert_equal 1, compared { push("one") }
    assert_equal 1, compared { 500.times { push(nil, "x") } && push("one") }
  end

  def test_many_sources_cost_each_few_steps
    steps = [100, 10_000].map do |sources|
      batches = Array.new(sources) { |number| push(number) }
      most = Array.new(200) { |number| compared { batches << push(number * sources / 200) } }.max
      assert_operator most, :<=, LONGEST_PATH
      @queue.close
      setup
      most
    end
    assert_operator steps.last, :<=, steps.first + 15, "a hundred times as many sources: #{steps}"
  end

  def test_the_c_alone_with_100000_sources_and_with_the_worst_keys
    Dir.mktmpdir do |folder|
      program = File.join(folder, "probe")
      compile(program, [File.expand_path("../../support/sources_probe.c", __dir__)], ["-I#{CProgram::EXTENSION}"])
      out, err, status = run_command([program], timeout: 300)
      assert_predicate status, :success?, out + err
      assert_equal "right\n", out
    end
  end

  def test_sources_take_turns_and_keep_their_lines
    batches = %w[a1 a2 a3 b1 c1 b2].map { |name| push(name[0], name) } << push(nil, "d1") << push(nil, "e1") << push("a", "a4")
    assert_equal %w[A1 B1 C1 D1 E1 A2 B2 A3 A4], order(batches)
    assert_equal [], @queue.depths
    assert_equal %w[B9 A9], order([push("b", "b9"), push("a", "a9")]), "sources that come back are last"
  end

  # Two readers of one deferred batch may both come to spread it.
  def test_a_batch_is_in_line_once_and_not_when_it_is_complete
    batches = [push("a", "a1"), push("a", "a2")]
    assert_equal true, @queue.push(batches.first)
    assert_equal [2, 2, [["a", 2]]], [@queue.batches, @queue.payloads, @queue.depths]
    assert_equal %w[A1 A2], order(batches)
    assert @queue.wait_until_drained(0)
    done = Guildhall::Pool::Batch.build(@queue, @runnable, %w[x], nil, false, true, nil, 1, nil, 1)
    done.help(nil)
    assert_equal false, @queue.push(done)
    assert_equal 0, @queue.batches
    assert @queue.wait_until_drained(0)
  end

  def test_a_weighty_source_has_several_slices_a_turn
    batches = %w[a1 a2 a3].map { |name| push("a", name, weight: 2) } + %w[b1 b2].map { |name| push("b", name) }
    assert_equal %w[A1 A2 B1 A3 B2], order(batches)
  end

  def test_sources_that_have_come_and_gone_leave_no_memory
    GC.start
    payloads = Array.new(50) { |round| 200.times.map { |number| push("#{round} #{number}", "x") } && order_all }
    assert_equal [200] * 50, payloads
    assert_equal [0, 0, []], [@queue.payloads, @queue.batches, @queue.depths]
  end

  private

  # Takes and runs everything.
  # @return [Integer] slices
  def order_all
    slot = Guildhall::Pool::WorkerSlot.build(@queue)
    (1..).each do |slices|
      slot.take
      slot.work
      return slices if @queue.batches.zero?
    end
  end
end
