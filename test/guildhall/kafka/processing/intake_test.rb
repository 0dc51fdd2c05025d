# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaIntakeTest < GuildhallTest
  # Notes what may be taken.
  class Queue
    attr_reader :allowed, :closed

    def allow(*limits) = @allowed = limits
    def close = @closed = true
  end

  Topic = Struct.new(:max_messages, :max_bytes)

  def setup
    config = Guildhall::Kafka::Config.new
    config.max_messages = 10
    config.max_bytes = 1_000
    @intake = Guildhall::Kafka::Processing::Intake.new(Topic.new(4, nil), config)
    @intake.queue = @queue = Queue.new
  end

  def test_lets_a_batch_in_while_few_wait
    {nil => 0, 0 => 4, 2 => 4, 3 => 0}.each do |waiting, messages|
      @intake.allow(waiting)
      assert_equal [messages, 1_000], @queue.allowed, waiting.inspect
    end
  end

  def test_cuts_up_what_came_without_a_limit
    ranges = []
    @intake.each_batch((0...10).to_a) { |range| ranges << range }
    assert_equal [0...4, 4...8, 8...10], ranges
  end

  def test_nothing_comes_once_it_is_closed
    @intake.close
    assert @queue.closed
    @intake.allow(0)
    assert_nil @queue.allowed
    @intake.close
  end
end
