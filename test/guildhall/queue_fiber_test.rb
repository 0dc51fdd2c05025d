# frozen_string_literal: true

require "test_helper"

# Under a fiber scheduler only the fiber waits. In processes of their own, because a scheduler keeps threads and descriptors.
class QueueFiberTest < GuildhallTest
  PRELUDE = <<~'RUBY'
    require "async"
    require "guildhall/queue"
    Warning[:experimental] = false
    TAKE = Ractor.method_defined?(:value) ? :value : :take
  RUBY

  def test_other_fibers_go_on_while_one_waits_for_a_ractor
    assert_equal "done 5\n", assert_ruby(PRELUDE + <<~'RUBY')
      there, back = Guildhall::Queue.new(1), Guildhall::Queue.new(1)
      ractor = Ractor.new(there, back) { |from, to| from.each { |item| to.push(item) } }
      steps = 0
      Sync do |task|
        waiting = task.async { back.pop }
        5.times { task.async { sleep(0.001); steps += 1 }.wait } # while the first one waits
        there.push(:done)
        puts "#{waiting.wait} #{steps}"
      end
      there.close
      ractor.public_send(TAKE)
    RUBY
  end

  def test_items_pass_between_fibers_of_one_thread_and_ractors
    assert_equal "#{(0...6000).sum} 6000\n", assert_ruby(PRELUDE + <<~'RUBY')
      queue = Guildhall::Queue.new(3)
      ractor = Ractor.new(queue) { |to| 2000.times { |item| to.push(item) } }
      items = []
      Sync do |task|
        producers = [2000, 4000].map { |first| task.async { 2000.times { |item| queue.push(first + item) } } }
        consumers = Array.new(3) { task.async { queue.each { |item| items << item } } }
        producers.each(&:wait)
        ractor.public_send(TAKE)
        queue.close
        consumers.each(&:wait)
      end
      puts "#{items.sum} #{items.uniq.size}"
    RUBY
  end

  def test_deadlines_and_cancelled_tasks
    assert_equal "late Async::TimeoutError 0 1\n", assert_ruby(PRELUDE + <<~'RUBY')
      queue = Guildhall::Queue.new(1)
      Sync do |task|
        late = queue.pop(timeout: 0.01, default: :late)
        error = begin
          task.with_timeout(0.01) { queue.pop }
        rescue Async::TimeoutError => error
          error.class
        end
        stopped = task.async { queue.pop }
        stopped.stop
        queue.push(:kept)
        puts "#{late} #{error} #{queue.num_waiting} #{queue.size}"
      end
    RUBY
  end

  def test_a_ractor_answers_a_reactor
    assert_equal "[0, 2, 4]\n", assert_ruby(PRELUDE + <<~'RUBY')
      queue, answers = Guildhall::Queue.new(2), Guildhall::Queue.new(8)
      ractor = Ractor.new(queue, answers) do |from, to|
        from.each { |item| to.push(item * 2) }
        to.close
      end
      Sync do |task|
        task.async { 3.times { |item| sleep(0.001); queue.push(item) }; queue.close }
        p answers.each.to_a
      end
      ractor.public_send(TAKE)
    RUBY
  end

  def test_keeps_no_descriptor
    assert_equal "0\n", assert_ruby(PRELUDE + <<~'RUBY')
      queue = Guildhall::Queue.new(1)
      Sync do
        queue.pop(timeout: 0.001)
        before = Dir.children("/proc/self/fd").size
        200.times { queue.pop(timeout: 0.0001) }
        puts Dir.children("/proc/self/fd").size - before
      end
    RUBY
  end
end
