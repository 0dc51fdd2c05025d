# frozen_string_literal: true

require "test_helper"
require "json"
require "support/queue_history"

# Millions of waits and interrupts, on Ractors and threads mixed. STRESS=0.1 does a tenth of it.
class QueueStressTest < GuildhallTest
  AMOUNT = Float(ENV.fetch("STRESS", "1"))
  # Which sleeps are met depends on how many native threads there may be: with 2, no Ractor may pin one.
  CPUS = %w[2 4 8].freeze

  PRELUDE = <<~'RUBY'
    require "guildhall/queue"
    require "timeout"
    Warning[:experimental] = false
    TAKE = Ractor.method_defined?(:value) ? :value : :take
    COUNT = Integer(ARGV[0])
    Thread.report_on_exception = true
    def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  RUBY

  def test_history_checker_finds_errors
    good = [[1, 0, 1], [2, 2, 3]]
    assert_nil QueueHistory.new(good, [[1, 4, 5], [2, 6, 7]]).error
    assert_nil QueueHistory.new(good, [[2, 4, 6], [1, 5, 7]]).error, "side by side"
    assert_match(/overtook/, QueueHistory.new(good, [[2, 4, 5], [1, 6, 7]]).error)
    assert_match(/before/, QueueHistory.new([[1, 5, 6]], [[1, 1, 2]]).error)
    assert_match(/twice/, QueueHistory.new(good, [[1, 4, 5], [1, 6, 7]]).error)
    assert_match(/lost/, QueueHistory.new(good, [[1, 4, 5], [3, 6, 7]]).error)
    assert_match(/pops of/, QueueHistory.new(good, [[1, 4, 5]]).error)
  end

  def test_histories_are_linearizable
    CPUS.product([1, 3, 64]).each do |cpus, capacity|
      out = assert_ruby(PRELUDE + <<~'RUBY', amount(20_000), capacity.to_s, env: {"RUBY_MAX_CPU" => cpus}, timeout: 300)
        require "json"
        queue = Guildhall::Queue.new(Integer(ARGV[1]))
        clock = Ractor.make_shareable(nil.instance_eval { -> { Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) } })
        produce = Ractor.make_shareable(nil.instance_eval { ->(to, number, count) do
          Array.new(count) { |index| item = (number * count) + index; began = clock.call; to.push(item); [item, began, clock.call] }
        end })
        consume = Ractor.make_shareable(nil.instance_eval { ->(from) do
          seen = []
          while true
            began = clock.call
            item = from.pop
            break unless item
            seen << [item, began, clock.call]
          end
          seen
        end })
        # Results travel through a queue: on 3.4 a Ractor that ends while another waits in `take` can deadlock with a
        # collection inside the VM.
        pushed, popped = Guildhall::Queue.new(8), Guildhall::Queue.new(8)
        3.times { Ractor.new(queue, consume, popped) { |from, work, result| result.push(Ractor.make_shareable(work.call(from))) } }
        others = Array.new(2) { Thread.new { consume.call(queue) } }
        3.times do |number|
          Ractor.new(queue, number, produce, COUNT, pushed) do |to, own, work, count, result|
            result.push(Ractor.make_shareable(work.call(to, own, count)))
          end
        end
        own = Thread.new { produce.call(queue, 3, COUNT) }
        pushes = Array.new(3) { pushed.pop }.flatten(1) + own.value
        queue.close
        puts JSON.generate([pushes, Array.new(3) { popped.pop }.flatten(1) + others.flat_map(&:value)])
      RUBY
      assert_nil QueueHistory.new(*JSON.parse(out)).error, "RUBY_MAX_CPU=#{cpus}, capacity #{capacity}"
    end
  end

  # Clients ask over one queue and wait for the answer on their own: every call parks somebody.
  def test_waits_and_wakes_of_ractors_and_threads
    CPUS.each do |cpus|
      assert_equal "right\n", assert_ruby(PRELUDE + <<~'RUBY', amount(40_000), env: {"RUBY_MAX_CPU" => cpus}, timeout: 600)
        requests = Guildhall::Queue.new(2)
        replies = Ractor.make_shareable(Array.new(12) { Guildhall::Queue.new(1) })
        serve = Ractor.make_shareable(nil.instance_eval { ->(from, to) { served = 0; while (call = from.pop); to[call & 255].push((call >> 8) + 1); served += 1; end; served } })
        ask = Ractor.make_shareable(nil.instance_eval { ->(to, reply, number, count) do
          count.times { |index| to.push((index << 8) | number); reply.pop == index + 1 or raise "wrong answer" }
        end })
        servers = Array.new(3) { Ractor.new(requests, replies, serve) { |from, to, work| work.call(from, to) } }
        servants = Array.new(2) { Thread.new { serve.call(requests, replies) } }
        clients = Array.new(8) { |number| Ractor.new(requests, replies[number], number, ask, COUNT) { |to, reply, own, work, count| work.call(to, reply, own, count) } }
        threads = Array.new(4) { |number| Thread.new { ask.call(requests, replies[8 + number], 8 + number, COUNT / 4) } }
        clients.each(&TAKE)
        threads.each(&:join)
        requests.close
        served = servers.sum(&TAKE) + servants.sum(&:value)
        puts served == (8 * COUNT) + (4 * (COUNT / 4)) ? "right" : served
      RUBY
    end
  end

  # Items may be interrupted only where pop or push blocks; each has to arrive exactly once.
  def test_a_storm_of_interrupts
    CPUS.each do |cpus|
      out = assert_ruby(PRELUDE + <<~'RUBY', amount(350_000), env: {"RUBY_MAX_CPU" => cpus}, timeout: 900)
        queue = Guildhall::Queue.new(2)
        hits = 0
        never = {RuntimeError => :never, Timeout::ExitException => :never}
        blocking = {RuntimeError => :on_blocking, Timeout::ExitException => :on_blocking}
        idle = Ractor.new(queue) { |from| items = []; while (item = from.pop); items << item; end; items }
        far = Array.new(3) { Ractor.new(queue) { |from| items = []; while (item = from.pop); items << item; end; items } }
        consumers = Thread.handle_interrupt(never) do
          Array.new(3) do |number|
            Thread.new do
              items = []
              item = 0
              while item
                item = :none
                begin
                  if number.zero?
                    Timeout.timeout(0.001) { Thread.handle_interrupt(blocking) { item = queue.pop } }
                  else
                    Thread.handle_interrupt(blocking) { item = queue.pop }
                  end
                rescue RuntimeError, Timeout::Error, Timeout::ExitException
                  hits += 1
                end
                items << item if item && item != :none
              end
              items
            end
          end
        end
        # Items flow until there were enough interrupts. Pushing is interrupted as well: what raised was not pushed.
        producer = Thread.handle_interrupt(never) do
          Thread.new do
            number = 0
            until hits >= COUNT
              begin
                Thread.handle_interrupt(blocking) { queue.push(number) }
                number += 1
              rescue RuntimeError
                hits += 1
              end
              sleep(0.0005) if (number % 20).zero?
            end
            number
          end
        end
        stop = false
        kicker = Thread.new do
          until stop
            [*consumers.drop(1), producer].each { |thread| thread.raise("interrupt") if thread.alive? && !thread.pending_interrupt? }
            Thread.pass
          end
        end
        pushed = producer.value
        stop = true
        kicker.join
        queue.close
        items = [idle, *far].flat_map(&TAKE) + consumers.flat_map(&:value)
        abort("#{items.size} of #{pushed}, #{items.uniq.size} distinct") unless items.sort == (0...pushed).to_a
        puts "#{hits} interrupts, #{pushed} items"
      RUBY
      assert_operator out.to_i, :>=, Integer(amount(350_000)), out
    end
  end

  def test_ten_thousand_parked_ractors
    out = assert_ruby(PRELUDE + <<~'RUBY', amount(10_000), timeout: 300)
      queue = Guildhall::Queue.new(1024)
      ractors = Array.new(COUNT) { Ractor.new(queue) { |from| from.pop } }
      sleep(0.01) until queue.num_waiting == COUNT
      abort("#{Dir.children("/proc/self/fd").size} descriptors") if Dir.children("/proc/self/fd").size > 30
      natives = Dir.children("/proc/self/task").size
      COUNT.times { |number| queue.push(number) }
      abort("wrong sum") unless ractors.sum(&TAKE) == COUNT * (COUNT - 1) / 2
      abort("left: #{queue.num_waiting}") unless queue.num_waiting.zero?
      puts natives
    RUBY
    assert_operator out.to_i, :<=, 20, "native threads"
  end

  def test_no_stall_in_a_hundred_runs
    runs = [(100 * AMOUNT).ceil, 5].max
    [2, 4, 8].each do |ends|
      out = assert_ruby(PRELUDE + <<~'RUBY', runs.to_s, ends.to_s, timeout: 600)
        ends = Integer(ARGV[1])
        COUNT.times do
          queue = Guildhall::Queue.new(8)
          consumers = Array.new(ends) { Ractor.new(queue) { |from| sum = 0; while (item = from.pop); sum += item; end; sum } }
          producers = Array.new(ends) { Ractor.new(queue) { |to| 2000.times { |item| to.push(item) } } }
          producers.each(&TAKE)
          queue.close
          abort("wrong sum") unless consumers.sum(&TAKE) == ends * 1999 * 1000
        end
        puts "right"
      RUBY
      assert_equal "right\n", out
    end
  end

  private

  def amount(number) = (number * AMOUNT).ceil.to_s
end
