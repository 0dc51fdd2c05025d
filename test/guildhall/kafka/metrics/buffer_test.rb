# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka/metrics/buffer"

class KafkaMetricsBufferTest < GuildhallTest
  def setup
    @recorded = []
    @buffer = Guildhall::Kafka::Metrics::Buffer.new { |*one| @recorded << one }
  end

  def test_what_comes_seldom_is_passed_on_at_once
    @buffer.add({topic: "a"}, {"messages" => 3, "dropped" => 0}, {"seconds" => 0.5})
    assert_equal [["messages", 3, {topic: "a"}], ["seconds", 0.5, {topic: "a"}]], @recorded
  end

  def test_of_what_comes_soon_after_counters_are_added_up_and_values_kept
    @buffer.add({topic: "a"}, {"messages" => 1})
    @recorded.clear
    [0.5, 0.7].each { |seconds| @buffer.add({topic: "a"}, {"messages" => 3, "dropped" => 1}, {"seconds" => seconds}) }
    @buffer.add({topic: "b"}, {"messages" => 5})
    assert_empty @recorded
    @buffer.flush
    assert_equal [["messages", 6, {topic: "a"}], ["dropped", 2, {topic: "a"}], ["messages", 5, {topic: "b"}],
                  ["seconds", 0.5, {topic: "a"}], ["seconds", 0.7, {topic: "a"}]], @recorded
    @buffer.flush
    assert_equal 5, @recorded.size
  end

  def test_nothing_is_lost_between_threads
    passed_on = Thread::Queue.new
    buffer = Guildhall::Kafka::Metrics::Buffer.new { |_, value, _| passed_on << value }
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
