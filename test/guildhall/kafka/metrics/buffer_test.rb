# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka/metrics/collector"

class KafkaMetricsBufferTest < GuildhallTest
  def setup
    @recorded = []
    @waiting = []
    @buffer = Guildhall::Kafka::Metrics::Collector::Buffer.new(->(_, &flush) { @waiting << flush }) { |*one| @recorded << one }
  end

  def test_counters_are_added_up_and_values_kept
    [0.5, 0.7].each { |seconds| @buffer.add({topic: "a"}, {"messages" => 3, "dropped" => 1, "none" => 0}, {"seconds" => seconds}) }
    @buffer.add({topic: "b"}, {"messages" => 5})
    assert_equal [[], 1], [@recorded, @waiting.size]
    @waiting.shift.call
    assert_equal [["messages", 6, {topic: "a"}], ["dropped", 2, {topic: "a"}], ["messages", 5, {topic: "b"}],
                  ["seconds", 0.5, {topic: "a"}], ["seconds", 0.7, {topic: "a"}]], @recorded
  end

  # Objects that wait grow old, and old ones cost a collection of everything.
  def test_only_numbers_wait
    add = ->(count) { count.times { |index| @buffer.add({topic: "a", partition: 1}, {"messages" => index}, {"seconds" => index / 8.0}) } }
    add.call(10)
    GC.start
    before = GC.stat(:heap_live_slots)
    add.call(5_000)
    GC.start
    assert_operator GC.stat(:heap_live_slots) - before, :<, 1_000
    @buffer.flush
    assert_equal 5_011, @recorded.size
  end

  def test_nothing_is_passed_on_twice
    @buffer.add({topic: "a"}, {"messages" => 3})
    2.times { @buffer.flush }
    @waiting.shift.call
    assert_equal [["messages", 3, {topic: "a"}]], @recorded
    @buffer.add({topic: "a"}, {"messages" => 4})
    assert_equal 1, @waiting.size, "it waits again"
  end

  # An application that only produces has no timer.
  def test_without_a_timer_all_of_it_is_passed_on_at_once
    buffer = Guildhall::Kafka::Metrics::Collector::Buffer.new(->(*) {}) { |*one| @recorded << one }
    2.times { buffer.add({}, {"messages" => 3}, {"seconds" => 0.5}) }
    assert_equal [["messages", 3, {}], ["seconds", 0.5, {}]] * 2, @recorded
  end

  def test_a_child_passes_on_its_own_alone
    assert_equal "child 4, parent 3", assert_ruby(<<~'RUBY').chomp
      require "guildhall/kafka/metrics/collector"
      recorded = []
      buffer = Guildhall::Kafka::Metrics::Collector::Buffer.new(->(*) { true }) { |_, value, _| recorded << value }
      buffer.add({}, {"messages" => 3})
      print "child "
      $stdout.flush
      Process.wait(fork do
        buffer.add({}, {"messages" => 4})
        buffer.flush
        print(*recorded)
      end)
      buffer.flush
      puts ", parent #{recorded.join}"
    RUBY
  end

  def test_nothing_is_lost_between_threads
    passed_on = Thread::Queue.new
    buffer = Guildhall::Kafka::Metrics::Collector::Buffer.new(->(*) { true }) { |_, value, _| passed_on << value }
    threads = Array.new(4) do |index|
      Thread.new do
        1_000.times do |one|
          buffer.add({index:}, {"n" => 1})
          buffer.flush if (one % 100).zero?
        end
      end
    end
    threads.each(&:join)
    buffer.flush
    assert_equal 4_000, Array.new(passed_on.size) { passed_on.pop }.sum
  end
end
