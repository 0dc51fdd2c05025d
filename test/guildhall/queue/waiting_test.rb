# frozen_string_literal: true

require "test_helper"
require "guildhall/queue"

# The ways in which a thread sleeps (ext/guildhall/waiting): what is left behind when something goes wrong meanwhile.
class QueueWaitingTest < GuildhallTest
  HEAD = <<~'RUBY'
    require "guildhall/queue"
    Warning[:experimental] = false
    TAKE = Ractor.method_defined?(:value) ? :value : :take
  RUBY
  UNPINNED = {"RUBY_MAX_CPU" => "2"}.freeze # then no other Ractor's thread may sleep on a native thread of its own

  # Claimed and interrupted at once, a waiter passes the wake on; that it fails must not cost it its own exception.
  def test_an_exception_survives_a_wake_that_fails
    skip("ports came with Ruby 4.0") unless defined?(Ractor::Port)
    assert_equal "stop\n", assert_ruby(<<~'RUBY', env: UNPINNED)
      require "guildhall/queue"
      Warning[:experimental] = false
      module Failing
        def send(*) = Ractor.current[:failing] ? raise("no sending now") : super
      end
      Ractor::Port.prepend(Failing)
      outcome = Ractor.new(Guildhall::Queue.new(4)) do |queue|
        waits = ->(count) { Thread.pass until queue.num_waiting == count }
        first = Thread.new do
          Thread.handle_interrupt(RuntimeError => :never) { queue.pop } # what sending raises comes later
        rescue Exception => error
          error.message
        end
        waits[1]
        second = Thread.new { queue.pop }
        waits[2]
        queue.push(:for_the_first)
        Ractor.current[:failing] = true
        first.raise(NotImplementedError, "stop")
        message = begin
          first.value
        rescue Exception => error
          "lost: #{error.inspect}"
        end
        Ractor.current[:failing] = false
        second.kill.join # no thread will wake it
        message
      end
      puts outcome.value
    RUBY
  end

  # Between the wake that it interrupted and the thread that raises it again, nothing else refers to the error.
  def test_an_interrupt_put_off_by_a_wake_survives_garbage_collection
    skip("ports came with Ruby 4.0") unless defined?(Ractor::Port)
    assert_equal "[\"late\"]\n", assert_ruby(<<~'RUBY', env: UNPINNED)
      require "guildhall/queue"
      Warning[:experimental] = false
      module Interrupted
        def send(*)
          super
          raise("late") if Thread.current[:interrupted]
        ensure
          Thread.current[:interrupted] = nil
        end
      end
      Ractor::Port.prepend(Interrupted)
      queue = Guildhall::Queue.new(4)
      ractor = Ractor.new(queue) { |items| nil until items.pop == :end }
      deep = ->(depth, work) { depth.zero? ? work.call : deep.call(depth - 1, work) } # the stack forgets the error
      outcomes = Array.new(20) do
        Thread.pass until queue.num_waiting == 1
        deep.call(50, -> { (Thread.current[:interrupted] = true) && queue.push(1) })
        deep.call(80, -> { [1].map(&:to_s) })
        GC.start
        Array.new(2_000) { Object.new }
        sleep
      rescue Exception => error
        error.message
      end
      queue.push(:end)
      ractor.value
      p outcomes.uniq
    RUBY
  end

  def test_a_throw_that_a_wake_runs_into_becomes_an_error
    skip("ports came with Ruby 4.0") unless defined?(Ractor::Port)
    assert_match(/\AThreadError: .*raise in the handler instead\n1\n\z/, assert_ruby(<<~'RUBY', env: UNPINNED))
      require "guildhall/queue"
      Warning[:experimental] = false
      module Throwing
        def send(*)
          super
          throw(:done) if Thread.current[:throwing]
        ensure
          Thread.current[:throwing] = nil
        end
      end
      Ractor::Port.prepend(Throwing)
      queue = Guildhall::Queue.new(4)
      ractor = Ractor.new(queue) { |items| items.pop }
      Thread.pass until queue.num_waiting == 1
      begin
        catch(:done) { (Thread.current[:throwing] = true) && queue.push(1) && sleep }
      rescue ThreadError => error
        puts "#{error.class}: #{error.message}"
      end
      p ractor.value
    RUBY
  end

  def test_threads_that_come_and_go_share_a_ractors_ports
    skip("ports came with Ruby 4.0") unless defined?(Ractor::Port)
    assert_equal "100 true\n", assert_ruby(<<~'RUBY', env: UNPINNED)
      require "guildhall/queue"
      Warning[:experimental] = false
      module Counting
        def new(*) = super.tap { Ractor.current[:ports] = Ractor.current[:ports].to_i + 1 }
      end
      Ractor::Port.singleton_class.prepend(Counting)
      ractor = Ractor.new(Guildhall::Queue.new(1)) do |queue|
        sum = Array.new(100) do
          thread = Thread.new { queue.pop }
          Thread.pass until queue.num_waiting == 1
          queue.push(1)
          thread.value
        end.sum
        [sum, Ractor.current[:ports] <= 3]
      end
      puts ractor.value.join(" ")
    RUBY
  end

  def test_a_fiber_that_is_interrupted_as_it_begins_to_wait_leaves_no_descriptor
    assert_equal "true\n", assert_ruby(<<~'RUBY')
      require "guildhall/queue"
      class NoIO
        def io_wait(...) = raise("not reached")
        def kernel_sleep(...) = nil
        def block(...) = nil
        def unblock(...) = nil
        def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)
        def close = nil
        def fiber_interrupt(...) = nil
      end
      module Interrupted
        def for_fd(*, **) = raise(Interrupt, "now")
      end
      IO.singleton_class.prepend(Interrupted)
      queue = Guildhall::Queue.new(1)
      turn = lambda do
        Fiber.set_scheduler(NoIO.new)
        Fiber.schedule { begin queue.pop; rescue Interrupt; nil end }
      ensure
        Fiber.set_scheduler(nil)
      end
      Thread.new(&turn).join
      before = Dir.children("/dev/fd").size
      10.times { Thread.new(&turn).join }
      puts Dir.children("/dev/fd").size == before
    RUBY
  end

  # More wait than may be pinned, each until its own deadline or its item; and the process has few descriptors left.
  def test_deadlines_beyond_the_pinned_ones
    ["", "Process.setrlimit(:NOFILE, Dir.children('/dev/fd').map(&:to_i).max + 24)"].each do |limit|
      assert_equal "20 20 true\n", assert_ruby(<<~RUBY, env: UNPINNED)
        #{HEAD}
        full, empty = Guildhall::Queue.new(20), Guildhall::Queue.new(1)
        #{limit}
        ractors = Array.new(20) do
          Ractor.new(full, empty) { |source, never| [never.pop(timeout: 0.05, default: :late), source.pop(timeout: 60)] }
        end
        20.times { |item| full.push(item) }
        late, items = ractors.map(&TAKE).transpose
        puts [late.count(:late), items.uniq.size, items.sum == 190].join(" ")
      RUBY
    end
  end
end
