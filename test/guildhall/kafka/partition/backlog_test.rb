# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaBacklogTest < GuildhallTest
  # Notes what may be taken.
  class Queue
    attr_reader :allowed, :closed

    def allow(*limits) = @allowed = limits
    def close = @closed = true
  end

  Topic = Struct.new(:max_messages, :max_bytes)
  Batch = Struct.new(:records, :bytes)

  def setup
    config = Guildhall::Kafka::Config.new
    config.max_messages = 10
    config.max_bytes = 1_000
    flight = Guildhall::Kafka::Runtime::Backpressure.new(config, [])
    @backlog = Guildhall::Kafka::Partition::Backlog.new(flight, Topic.new(4, nil), config)
    @backlog.queue = @queue = Queue.new
  end

  def test_lets_a_batch_in_while_few_wait
    allowed = Array.new(4) do
      @backlog.allow(true, false)
      @backlog << Batch.new([], 0)
      @queue.allowed
    end
    assert_equal [[4, 1_000], [4, 1_000], [4, 1_000], [0, 1_000]], allowed
  end

  def test_lets_nothing_in_while_the_partition_rests
    @backlog.allow(false, true)
    assert_equal [0, 1_000], @queue.allowed
  end

  def test_nothing_comes_once_it_is_closed
    @backlog.close
    assert @queue.closed
    @backlog.allow(true, false)
    assert_nil @queue.allowed
    @backlog.close
  end
end
