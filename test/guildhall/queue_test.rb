# frozen_string_literal: true

require "test_helper"
require "timeout"
require "guildhall/queue"
require "support/queue_contract"

class QueueTest < GuildhallTest
  include QueueContract

  def new_queue(...) = Guildhall::Queue.new(...)

  def test_any_capacity_is_exact
    [1, 2, 3, 5, 8, 1000].each do |capacity|
      queue = new_queue(capacity)
      assert_equal capacity, queue.capacity
      3.times do
        capacity.times { |item| assert queue.try_push(item) }
        assert_predicate queue, :full?
        refute queue.try_push(:one_too_many)
        assert_equal (0...capacity).to_a, Array.new(capacity) { queue.try_pop }
        assert_equal :empty, queue.try_pop(:empty)
      end
    end
  end

  def test_batches_wrap_around_at_any_capacity
    [1, 2, 3, 7, 64, 100].each do |capacity|
      queue = new_queue(capacity)
      numbers = (0..).each
      expected = (0..).each
      50.times do |round|
        pushed = queue.push_many(Array.new((round % capacity) + 1) { numbers.next }, timeout: 0)
        assert_equal (round % capacity) + 1, pushed
        assert_equal Array.new(pushed) { expected.next }, queue.drain
      end
    end
  end

  def test_every_item_arrives_once_and_in_order_between_ractors
    [1, 7, 1024].each do |capacity|
      assert_equal "#{(0...30_000).sum} 30000\n", assert_ruby(BETWEEN_RACTORS, capacity.to_s), "capacity #{capacity}"
    end
  end

  BETWEEN_RACTORS = <<~'RUBY'
    require "guildhall/queue"
    Warning[:experimental] = false
    queue = Guildhall::Queue.new(Integer(ARGV[0]))
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

  # More waiters than native threads: the others go on.
  def test_blocked_ractors_stall_no_other
    [2, 4, 8].each do |cpus|
      assert_equal "64 200\n", assert_ruby(<<~'RUBY', env: {"RUBY_MAX_CPU" => cpus.to_s}), "RUBY_MAX_CPU=#{cpus}"
        require "guildhall/queue"
        Warning[:experimental] = false
        queue = Guildhall::Queue.new(2)
        take = Ractor.method_defined?(:value) ? :value : :take
        blocked = Array.new(64) { |number| Ractor.new(queue, number) { |source, n| n.odd? ? source.pop : source.pop(timeout: 600) } }
        sleep(0.01) until queue.num_waiting == 64
        ticks = Ractor.new { 200.times { sleep(0.001) }; 200 }.public_send(take)
        64.times { queue.push(1) }
        puts "#{blocked.sum(&take)} #{ticks}"
      RUBY
    end
  end

  def test_time_outs_of_many_ractors
    assert_equal "5 15\n", assert_ruby(<<~'RUBY', env: {"RUBY_MAX_CPU" => "2"})
      require "guildhall/queue"
      Warning[:experimental] = false
      queue = Guildhall::Queue.new(2)
      take = Ractor.method_defined?(:value) ? :value : :take
      waiting = Array.new(20) { Ractor.new(queue) { |source| source.pop(timeout: 0.5, default: :none) } }
      sleep(0.01) until queue.num_waiting == 20
      5.times { queue.push(:item) }
      results = waiting.map(&take)
      abort("left: #{queue.inspect} #{queue.num_waiting}") unless queue.empty? && queue.num_waiting.zero?
      abort("descriptors: #{Dir.children("/proc/self/fd").size}") if Dir.children("/proc/self/fd").size > 20
      puts "#{results.count(:item)} #{results.count(:none)}"
    RUBY
  end

  def test_control_c_ends_a_wait_of_the_main_thread
    out = assert_ruby(<<~'RUBY')
      require "guildhall/queue"
      queue = Guildhall::Queue.new(1)
      Thread.new { sleep(0.01) until queue.num_waiting == 1; Process.kill(:INT, Process.pid) }
      begin
        queue.pop
      rescue Interrupt
        puts "interrupted"
      end
    RUBY
    assert_equal "interrupted\n", out
  end

  def test_a_trap_runs_while_waiting
    assert_equal "[:trapped, :item]\n", assert_ruby(<<~'RUBY')
      require "guildhall/queue"
      queue = Guildhall::Queue.new(1)
      seen = []
      trap(:USR1) { seen << :trapped }
      Thread.new do
        sleep(0.01) until queue.num_waiting == 1
        Process.kill(:USR1, Process.pid)
        sleep(0.01) until seen.any?
        queue.push(:item)
      end
      item = queue.pop
      p(seen << item)
    RUBY
  end

  def test_the_process_ends_while_others_wait
    assert_equal "205\n", assert_ruby(<<~'RUBY')
      require "guildhall/queue"
      Warning[:experimental] = false
      queue = Guildhall::Queue.new(1)
      200.times { |n| Ractor.new(queue, n.odd?) { |source, timed| timed ? source.pop(timeout: 600) : source.pop } }
      5.times { Thread.new { queue.pop } }
      sleep(0.01) until queue.num_waiting == 205
      puts queue.num_waiting
    RUBY
  end

  def test_a_forked_child_has_its_own_copy
    assert_equal "child: [1, 2] 0 made parent: [1, 2, 3]\n", assert_ruby(<<~'RUBY')
      require "guildhall/queue"
      queue = Guildhall::Queue.new(8)
      queue.push_many([1, 2])
      other = Guildhall::Queue.new(1)
      waiting = Thread.new { other.pop }
      sleep(0.01) until other.num_waiting == 1
      reader, writer = IO.pipe
      child = fork do
        text = "child: #{queue.drain} #{other.num_waiting}"
        thread = Thread.new { other.pop }
        sleep(0.01) until other.num_waiting == 1
        other.push(:made)
        writer.print("#{text} #{thread.value}")
      end
      Process.wait(child)
      writer.close
      abort("child failed") unless $?.success?
      queue.push(3)
      other.push(nil)
      waiting.join
      puts "#{reader.read} parent: #{queue.drain}"
    RUBY
  end

  def test_a_queue_that_goes_away_frees_its_memory
    skip "AddressSanitizer keeps what is freed for a while" unless ENV.fetch("GUILDHALL_SANITIZE", "").empty?

    assert_equal "ok\n", assert_ruby(<<~'RUBY')
      require "guildhall/queue"
      resident = -> { File.read("/proc/self/status")[/VmRSS:\s*(\d+)/, 1].to_i / 1024 }
      make = ->(count) { count.times { Guildhall::Queue.new(100_000).push_many(Array.new(100_000, 1)) } }
      make.call(20)
      GC.start
      before = resident.call
      make.call(300) # 480 MB if nothing were freed, nor the collector reported
      GC.start
      after = resident.call
      puts after - before < 150 ? "ok" : "grew from #{before} to #{after} MB"
    RUBY
  end

  def test_an_item_in_the_queue_only_is_kept_and_a_taken_one_is_not
    queue = new_queue(4)
    count = lambda do
      GC.start
      ObjectSpace.each_object(Kept).count
    end
    4.times { queue.push(Kept.new.freeze) }
    assert_equal 4, count.call
    queue.clear
    4.times { queue.push(nil) } # over what may be left in registers and cells
    queue.clear
    eventually { count.call < 4 }
  end

  Kept = Class.new
end
