# frozen_string_literal: true

require "test_helper"
require "guildhall/queue"

class QueueTest < GuildhallTest
  def test_first_in_first_out
    queue = Guildhall::Queue.new(3)
    [1, nil, false].each { |item| queue << item }
    assert_predicate queue, :full?
    assert_equal [1, nil, false], Array.new(3) { queue.pop }
    assert_predicate queue, :empty?
  end

  def test_any_capacity_is_exact
    [1, 2, 3, 5, 8, 1000].each do |capacity|
      queue = Guildhall::Queue.new(capacity)
      3.times do
        capacity.times { |item| assert queue.try_push(item) }
        refute queue.try_push(:one_too_many)
        assert_equal (0...capacity).to_a, Array.new(capacity) { queue.try_pop }
        assert_equal :empty, queue.try_pop(:empty)
      end
    end
  end

  def test_refuses_what_is_not_shareable
    error = assert_raises(Guildhall::NotShareableError) { Guildhall::Queue.new(1).push([+"mutable"].freeze) }
    assert_equal "item[0]", error.path
  end

  def test_time_out
    queue = Guildhall::Queue.new(1)
    assert_nil queue.pop(timeout: 0)
    assert_equal :none, queue.pop(timeout: 0.01, default: :none)
    queue.push(1)
    assert_nil queue.push(2, timeout: 0.01)
    assert_equal 1, queue.size
  end

  def test_close_lets_the_rest_be_taken_and_ends_waits
    queue = Guildhall::Queue.new(2)
    waiting = Thread.new { queue.pop }
    eventually { queue.num_waiting == 1 }
    queue.push(1)
    assert_equal 1, waiting.value
    queue.push(2)
    queue.close
    assert_raises(ClosedQueueError) { queue.push(3) }
    assert_equal 2, queue.pop
    assert_nil queue.pop
  end

  def test_close_wakes_all_who_wait
    queue = Guildhall::Queue.new(1)
    threads = Array.new(5) { Thread.new { queue.pop } }
    eventually { queue.num_waiting == 5 }
    queue.close
    assert_equal [nil] * 5, threads.map(&:value)
  end

  def test_an_exception_reaches_a_waiting_thread_and_loses_nothing
    queue = Guildhall::Queue.new(1)
    thread = Thread.new { queue.pop }
    thread.report_on_exception = false
    eventually { queue.num_waiting == 1 }
    thread.raise(IOError, "stop")
    assert_raises(IOError) { thread.join }
    queue.push(:kept)
    assert_equal :kept, queue.pop
    assert_equal 0, queue.num_waiting
  end

  def test_between_ractors_every_item_arrives_once
    assert_equal "#{(0...30_000).sum} 30000\n", assert_ruby(<<~'RUBY')
      require "guildhall/queue"
      Warning[:experimental] = false
      queue = Guildhall::Queue.new(7)
      take = Ractor.method_defined?(:value) ? :value : :take
      consumers = Array.new(3) { Ractor.new(queue) { |source| items = []; while (item = source.pop); items << item; end; items } }
      producers = Array.new(3) { |number| Ractor.new(queue, number) { |target, n| 10_000.times { |i| target.push((n * 10_000) + i) } } }
      producers.each(&take)
      queue.close
      lists = consumers.map(&take)
      in_order = lists.all? { |items| items.group_by { |item| item / 10_000 }.each_value.all? { |own| own == own.sort } }
      abort("out of order") unless in_order
      puts "#{lists.flatten.sum} #{lists.flatten.uniq.size}"
    RUBY
  end

  def test_a_waiter_burns_no_processor_time
    queue = Guildhall::Queue.new(1)
    thread = Thread.new { queue.pop }
    eventually { queue.num_waiting == 1 }
    before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    sleep(0.5)
    spent = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before
    queue.push(nil)
    thread.join
    assert_operator spent, :<, 0.05
  end
end
