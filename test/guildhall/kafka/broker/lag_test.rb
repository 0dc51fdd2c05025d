# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "support/mock_faults"

class KafkaLagTest < GuildhallTest
  # A route, as far as lag needs it.
  Route = Struct.new(:group, :name) do
    def pattern? = name.is_a?(Regexp)
    def match?(topic) = name.match?(topic)
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
    Guildhall::Kafka::Group::Client.ask_coordinator { consumer.commit(list) }
  ensure
    consumer.close
  end

  def rows(*names)
    names << /\Aorders/ if names.empty?
    Guildhall::Kafka::Broker::Lag.new(@settings, names.map { |name| Route.new("g", name) }, timeout: 30).answer
  end

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
    assert_equal [false, true], [rows.first, rows.first.with(committed: 4)].map(&:beyond_end?)
  end

  def test_where_no_topic_matches_there_are_no_rows
    assert_empty rows(/nothing/)
  end

  def test_a_topic_that_no_route_names_may_have_any_error
    produce(3)
    faults = MockFaults.new(@broker)
    [5, 29].each do |code|
      faults.topic_error("others", code)
      [["orders"], [/\Aorders/]].each do |names|
        assert_equal [3, 0], rows(*names).map(&:messages)
        assert_predicate rows(*names), :complete?
      end
    end
  end

  def test_what_cannot_be_asked_is_named_once_a_topic_and_the_rest_is_answered
    produce(3)
    faults = MockFaults.new(@broker)
    faults.topic_error("others", 29)
    @broker.create_topic("many", partitions: 5)
    [0, 1, 3].each { |partition| faults.leader("many", partition, -1) }
    answer = rows("orders", "others", "many", "none")
    assert_equal [["many", 2], ["many", 4], ["orders", 0], ["orders", 1]], answer.map { |row| [row.topic, row.partition] }
    refute_predicate answer, :complete?
    assert_kind_of Array, answer
    lines = answer.problems.sort_by(&:topic).map(&:to_s)
    assert_equal 3, lines.size, lines
    assert_match(/\Agroup g, many partitions 0-1, 3: LEADER_NOT_AVAILABLE: .*; bring back the brokers/, lines[0])
    assert_match(/\Agroup g, none: UNKNOWN_TOPIC_OR_PART: .*; create the topic/, lines[1])
    assert_match(/\Agroup g, others: TOPIC_AUTHORIZATION_FAILED: .*; grant the user the right on the topic/, lines[2])
    assert_equal ["none"], answer.problems.select(&:missing?).map(&:topic)
  end

  def test_topics_that_are_not_there_do_not_make_an_answer_incomplete
    assert_predicate rows("orders", "none"), :complete?
  end

  def test_a_group_whose_offsets_cannot_be_asked_is_one_problem
    MockFaults.new(@broker).refuse(MockFaults::FIND_COORDINATOR, 30)
    answer = rows("orders")
    assert_empty answer
    assert_match(/\Agroup g: GROUP_AUTHORIZATION_FAILED: .*grant the user READ on the consumer group/, answer.problems.first.to_s)
    assert_equal 1, answer.problems.size
  end
end
