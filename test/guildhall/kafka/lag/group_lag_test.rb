# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"

class KafkaGroupLagTest < GuildhallTest
  # A route, as far as lag needs it.
  Route = Struct.new(:group, :pattern) do
    def match?(name) = pattern.match?(name)
  end

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("orders", partitions: 2)
    @broker.create_topic("others", partitions: 1)
    @settings = {"bootstrap.servers": @broker.bootstrap_servers, "group.id": "g"}
  end

  def teardown = @broker.stop

  def produce(count)
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    Array.new(count) { producer.produce(topic: "orders", partition: 0, payload: "x") }.each(&:wait)
  ensure
    producer.close
  end

  def commit(offset)
    consumer = Rdkafka::Config.new(@settings).consumer
    list = Rdkafka::Consumer::TopicPartitionList.new("orders" => [Rdkafka::Consumer::Partition.new(0, offset)])
    Guildhall::Kafka::Connection::CoordinatorRetry.run { consumer.commit(list) }
  ensure
    consumer.close
  end

  def rows(pattern = /\Aorders/) = Guildhall::Kafka::Lag::GroupLag.new(@settings, [Route.new("g", pattern)], timeout: 30).rows

  def test_without_a_committed_offset_everything_counts
    produce(3)
    first, second = rows
    assert_equal ["g", "orders", 0, nil, 3, 3], [first.group, first.topic, first.partition, first.committed, first.end_offset, first.messages]
    assert_operator first.seconds, :>=, 0
    assert_equal [1, nil, 0, 0, 0.0], [second.partition, second.committed, second.end_offset, second.messages, second.seconds]
  end

  def test_what_is_committed_does_not_count
    produce(3)
    commit(2)
    assert_equal [2, 3, 1], rows.first.to_h.values_at(:committed, :end_offset, :messages)
    commit(3)
    assert_equal [3, 3, 0, 0.0], rows.first.to_h.values_at(:committed, :end_offset, :messages, :seconds)
  end

  def test_where_no_topic_matches_there_are_no_rows
    assert_empty rows(/nothing/)
  end
end
