# frozen_string_literal: true

require "test_helper"
require "guildhall/queue"
require "support/c_program"

# What happens to those who wait when the process ends, is interrupted or forks; and who else may go on meanwhile.
class QueueProcessTest < GuildhallTest
  include CProgram

  HEAD = <<~'RUBY'
    require "guildhall/queue"
    Warning[:experimental] = false
    TAKE = Ractor.method_defined?(:value) ? :value : :take
    def wait_for(limit = 20)
      ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + limit
      until yield
        abort("not within #{limit} s") if Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends
        sleep(0.002)
      end
    end
    queue = Guildhall::Queue.new(2)
  RUBY

  def test_the_process_ends_while_ractors_and_threads_wait
    assert_equal "end\n", assert_ruby(<<~RUBY)
      #{HEAD}
      10.times { Ractor.new(queue) { |source| source.pop } }
      5.times { Thread.new { queue.pop } }
      wait_for { queue.num_waiting == 15 }
      puts "end"
    RUBY
  end

  def test_an_interrupt_ends_a_wait
    assert_equal "Interrupt 0 kept\n", assert_ruby(<<~RUBY)
      #{HEAD}
      Thread.new { wait_for { queue.num_waiting == 1 }; Process.kill(:INT, Process.pid) }
      begin
        queue.pop
      rescue Interrupt => error
        print error.class, " "
      end
      queue.push(:kept)
      puts "\#{queue.num_waiting} \#{queue.pop}"
    RUBY
  end

  def test_a_trap_handler_may_use_the_queue_that_is_waited_on
    assert_equal "handled\n", assert_ruby(<<~RUBY)
      #{HEAD}
      trap(:USR1) { queue.push(:handled) }
      Thread.new { wait_for { queue.num_waiting == 1 }; Process.kill(:USR1, Process.pid) }
      puts queue.pop
    RUBY
  end

  def test_a_timeout_of_the_standard_library
    assert_equal "Timeout::Error kept\n", assert_ruby(<<~RUBY)
      #{HEAD}
      require "timeout"
      begin
        Timeout.timeout(0.05) { queue.pop }
      rescue Timeout::Error => error
        print error.class, " "
      end
      puts queue.push(:kept).pop
    RUBY
  end

  # The parent's waiters are not the child's: it has a copy of the queue, with what was in it.
  def test_the_child_of_a_fork_has_a_queue_of_its_own
    assert_equal "child [1, 2] 0 true parent [1]\n", assert_ruby(<<~RUBY)
      #{HEAD}
      threads = Array.new(3) { Thread.new { Guildhall::Queue.new(1).tap { |own| Thread.current[:queue] = own }.pop } }
      wait_for { threads.all? { |thread| thread[:queue]&.num_waiting == 1 } }
      inherited = threads.first[:queue]
      queue.push(1)
      reader, writer = IO.pipe
      pid = fork do
        queue.push(2)
        woken = Thread.new { inherited.pop }
        wait_for { inherited.num_waiting == 1 }
        inherited.push(true)
        writer.print "child \#{queue.drain} \#{queue.num_waiting} \#{woken.value}"
        writer.close
        exit!(0)
      end
      writer.close
      Process.wait(pid)
      print reader.read
      threads.each { |thread| thread[:queue].push(nil) }.each(&:join)
      puts " parent \#{queue.drain}"
    RUBY
  end

  # A producer that has claimed a cell and a consumer that has claimed another are not there to go on.
  def test_a_child_goes_on_where_threads_of_its_parent_were_half_way
    with_program([File.expand_path("../../support/queue_fork_probe.c", __dir__)]) do |program|
      out, err, status = run_command([program])
      assert_predicate status, :success?, out + err
    end
  end

  # A trap handler that forks without a block comes back into what it has interrupted, in both processes.
  FORKING = <<~'RUBY'
    reader, writer = IO.pipe
    child = nil
    trap(:USR1) { child = fork }
    Thread.new do
      wait_for { queue.num_waiting == 1 }
      Process.kill(:USR1, Process.pid)
    end
    finish = lambda do |outcome|
      writer.syswrite("#{child ? "parent" : "child"} #{outcome.inspect} #{queue.num_waiting}\n")
      exit!(0) unless child
      Process.wait(child)
      writer.close
      puts reader.read.lines.sort
    end
  RUBY

  {
    "pop" => "queue.pop(timeout: 40, default: :late)",
    "pop_without_a_limit" => "queue.pop",
    "pop_many" => "queue.pop_many(5)"
  }.each do |name, wait|
    define_method(:"test_a_trap_handler_forks_while_its_thread_waits_in_#{name}") do
      taken = name == "pop_many" ? [:item] : :item
      assert_equal "child #{taken.inspect} 0\nparent #{taken.inspect} 0\n", assert_ruby(<<~RUBY)
        #{HEAD}
        #{FORKING}
        waker = ->(*) { Thread.new { wait_for { queue.num_waiting == 1 }; queue.push(:item) } }
        trap(:USR1) { child = fork; waker.call }
        finish.call(#{wait})
      RUBY
    end
  end

  def test_a_trap_handler_forks_while_its_thread_waits_for_room
    assert_equal "child [2, 3] 0\nparent [2, 3] 0\n", assert_ruby(<<~RUBY)
      #{HEAD}
      #{FORKING}
      [1, 2].each { |item| queue.push(item) }
      trap(:USR1) { child = fork; Thread.new { wait_for { queue.num_waiting == 1 }; queue.pop } }
      queue.push(3)
      finish.call(queue.drain)
    RUBY
  end

  [2, 4, 8].each do |cpus|
    class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
      def test_64_waiting_ractors_stall_no_other_on_#{cpus} = assert_none_stalls(#{cpus}) # def test_64_waiting_ractors_stall_no_other_on_2 = …
    RUBY
  end

  private

  # A Ractor that makes 200 steps of 1 ms while 64 others wait: it finishes, and those who wait are all woken.
  def assert_none_stalls(cpus)
    out = assert_ruby(<<~RUBY, env: {"RUBY_MAX_CPU" => cpus.to_s})
      #{HEAD}
      waiting = Array.new(64) { Ractor.new(queue) { |source| source.pop } }
      wait_for { queue.num_waiting == 64 }
      busy = Ractor.new { 200.times.sum { |step| sleep(0.001); step } }
      print busy.__send__(TAKE), " "
      64.times { |item| queue.push(item) }
      puts waiting.sum { |ractor| ractor.__send__(TAKE) }
    RUBY
    assert_equal "19900 2016\n", out
  end
end
