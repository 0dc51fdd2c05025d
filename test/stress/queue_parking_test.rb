# frozen_string_literal: true

require "test_helper"

# Parking in great numbers, and for a long time.
class QueueParkingTest < GuildhallTest
  HEAD = <<~'RUBY'
    require "guildhall/queue"
    Warning[:experimental] = false
    TAKE = Ractor.method_defined?(:value) ? :value : :take
    def until_true(limit)
      ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + limit
      until yield
        abort("not within #{limit} s") if Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends
        sleep(0.01)
      end
    end
  RUBY

  def test_ten_thousand_ractors_park_and_wake
    out = assert_ruby(<<~RUBY)
      #{HEAD}
      queue = Guildhall::Queue.new(1)
      descriptors = Dir.children("/proc/self/fd").size
      ractors = Array.new(10_000) { Ractor.new(queue) { |source| source.pop } }
      until_true(60) { queue.num_waiting == 10_000 }
      threads = File.read("/proc/self/status")[/^Threads:\\s*(\\d+)/, 1].to_i
      10_000.times { |item| queue.push(item) }
      puts ractors.sum { |ractor| ractor.__send__(TAKE) }
      puts threads <= 2 * 8 + 4, Dir.children("/proc/self/fd").size - descriptors < 20
    RUBY
    assert_equal "#{(0...10_000).sum}\ntrue\ntrue\n", out
  end

  # Rings of Ractors that each wait for the one before: every pass parks and wakes. Sums are exact, nobody stalls.
  [1, 2, 4, 16].each do |size|
    class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
      def test_wakes_around_#{size} = assert_around(#{size}) # def test_wakes_around_16 = …
    RUBY
  end

  private

  def assert_around(size)
    out = assert_ruby(<<~RUBY, size.to_s, timeout: 300)
      #{HEAD}
      size, passes = ARGV[0].to_i, 200_000
      queues = Array.new(size + 1) { Guildhall::Queue.new(1) }
      ractors = Array.new(size) do |number|
        Ractor.new(queues[number], queues[number + 1]) { |source, target| while (token = source.pop) do target.push(token + 1) end; target.push(nil) }
      end
      rounds = passes / (size + 1)
      token = 0
      rounds.times { queues.first.push(token); token = queues.last.pop }
      queues.first.push(nil)
      queues.last.pop
      ractors.each(&TAKE)
      puts token == rounds * size
    RUBY
    assert_equal "true\n", out
  end
end
