# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "support/mock_faults"

class KafkaBrokerParkedKeysTest < GuildhallTest
  Consumes = Class.new(Guildhall::Kafka::Consumer) { def consume = nil }

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("orders", partitions: 2)
    @broker.create_topic("others", partitions: 1)
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
    @application.config.group_id = "g"
    @application.routes.draw do
      topic("orders") do
        consumer Consumes
        ordering :key
      end
      topic("others") { consumer Consumes }
    end
  end

  def teardown = @broker.stop

  def produce(*keys)
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    keys.each { |key| producer.produce(topic: "orders", partition: 0, key:, payload: "x").wait }
  ensure
    producer.close
  end

  def commit(offset, done)
    metadata = Guildhall::Kafka::Partition::DoneRanges.dump(offset, done)
    consumer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers, "group.id": "g").consumer
    list = Rdkafka::Consumer::TopicPartitionList.new("orders" => [Rdkafka::Consumer::Partition.new(0, offset, 0, metadata)])
    Guildhall::Kafka::Group::Client.ask_coordinator { consumer.commit(list) }
  ensure
    consumer.close
  end

  def rows(**) = @application.parked_keys(**).map { |row| row.to_h.values_at(:group, :topic, :partition, :key, :offset, :messages) }

  def test_what_was_passed_over_is_listed_by_key
    produce("a", "b", "a", nil, "b", "a", nil)
    assert_empty rows, "nothing was committed"
    commit(1, [2...3, 5...6])
    assert_equal [["g", "orders", 0, "b", 1, 2], ["g", "orders", 0, nil, 3, 1]], rows
    assert_operator @application.parked_keys.first.seconds, :>=, 0
    commit(4, [])
    assert_empty rows
    assert_empty rows(topics: ["others"]), "not ordered by key"
  end

  def test_gaps_that_lie_far_apart
    distance = Guildhall::Kafka::Broker::ParkedKeys.const_get(:MAX_DISTANCE)
    keys = Guildhall::Kafka::Broker::ParkedKeys.new({}, @application.validate!)
    gaps = Guildhall::Kafka::Partition::DoneRanges.gaps(5, [6...10, 11...(20 + distance), (21 + distance)...(30 + distance)])
    ranges = []
    session = Object.new
    session.define_singleton_method(:each_record) { |_, _, range| ranges << range }
    assert_empty keys.passed_over(session, ["t", 0], gaps)
    assert_equal [5...11, (20 + distance)...(21 + distance)], ranges
  end

  def test_a_topic_with_an_error_leaves_the_others_alone
    produce("a", "b")
    commit(0, [1...2])
    MockFaults.new(@broker).topic_error("others", 29)
    assert_equal [["g", "orders", 0, "a", 0, 1]], rows
    MockFaults.new(@broker).topic_error("orders", 5)
    answer = @application.parked_keys
    assert_empty answer
    assert_match(/\Agroup g, orders: LEADER_NOT_AVAILABLE/, answer.problems.first.to_s)
  end
end
