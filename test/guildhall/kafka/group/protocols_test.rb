# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

# Which protocol the members of a group use, and which settings go with it.
class KafkaProtocolsTest < GuildhallTest
  class Idle < Guildhall::Kafka::Consumer
    def consume = nil
  end

  def setup
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "localhost:1"}
  end

  def topics(kafka = {})
    @application.routes.draw do
      topic("a") do
        consumer Idle
        kafka(kafka)
      end
    end
    @application.validate!
  end

  def problems(kafka = {}) = assert_raises(Guildhall::ConfigurationError) { topics(kafka) }.message
  def protocol(topic = topics.first, **) = @application.client_settings(topic, **)[:"group.protocol"]
  def error(code) = Struct.new(:code).new(code)

  def test_the_consumer_protocol_is_used_unless_a_setting_or_the_brokers_rule_it_out
    topic = topics.first
    assert_equal %w[consumer classic], [protocol(topic), protocol(topic, refused: true)]
    @application.config.group_protocol = :classic
    assert_equal "classic", protocol(topic)
    @application.config.group_protocol = :auto
    @application.config.kafka[:"session.timeout.ms"] = 6_000
    assert_equal "classic", protocol(topic)
  end

  def test_a_route_may_choose_for_itself
    @application.config.group_protocol = :classic
    assert_equal "consumer", protocol(topics("group.protocol": "consumer").first)
  end

  # As librdkafka takes them.
  def test_capitals_are_the_same
    assert_equal "consumer", protocol(topics("group.protocol": "CONSUMER", "group.remote.assignor": "uniform").first)
  end

  def test_without_a_group_there_is_nothing_to_choose
    @application.config.kafka[:"session.timeout.ms"] = 6_000
    @application.config.group_protocol = :consumer
    @application.routes.draw do
      topic("a") do
        consumer Idle
        assign(partitions: {0 => :all})
      end
    end
    assert_nil protocol(@application.validate!.first)
  end

  def test_settings_of_the_other_protocol_are_errors_that_say_what_takes_their_place
    @application.config.group_protocol = :consumer
    @application.config.kafka.merge!("session.timeout.ms": 6_000, "heartbeat.interval.ms": 300)
    text = problems("partition.assignment.strategy": "range", "group.protocol.type": "consumer")
    ["kafka must not set session.timeout.ms with the consumer protocol: the brokers decide it: group.consumer.session.timeout.ms",
     "kafka must not set heartbeat.interval.ms with the consumer protocol: the brokers decide it",
     'topic "a" kafka must not set partition.assignment.strategy with the consumer protocol: group.remote.assignor takes its place',
     'topic "a" kafka must not set group.protocol.type with the consumer protocol'].each { |part| assert_includes text, part }
    assert_equal 4, text.scan("  - ").size
  end

  def test_the_assignor_of_the_brokers_belongs_to_the_consumer_protocol
    topic = topics("group.remote.assignor": "range").first
    settings = [false, true].map { |refused| @application.client_settings(topic, refused:) }
    assert_equal [%w[consumer range], ["classic", nil]], settings.map { |one| one.values_at(:"group.protocol", :"group.remote.assignor") }
    @application.config.group_protocol = :classic
    assert_includes assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message,
      'topic "a" kafka must not set group.remote.assignor: it belongs to the consumer protocol; here use partition.assignment.strategy'
    @application.config.group_protocol = :auto
    @application.config.kafka[:"session.timeout.ms"] = 6_000
    assert_includes assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message,
      "it belongs to the consumer protocol, which session.timeout.ms rules out: leave one out"
  end

  def test_what_only_the_classic_protocol_refuses_is_an_error_at_the_start
    @application.config.revocation_timeout = 1
    assert_includes problems("max.poll.interval.ms": 8_000), "`max.poll.interval.ms`must be >= `session.timeout.ms`"
    @application.config.group_protocol = :consumer
    assert_equal 1, @application.validate!.size
  end

  def test_anything_else_is_an_error
    @application.config.group_protocol = :next
    assert_includes problems, "group_protocol must be :auto, :consumer or :classic, not :next"
    @application.config.group_protocol = :auto
    @application.config.kafka[:"group.protocol"] = "next"
    assert_includes assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message, "kafka: Invalid value \"next\""
  end

  def test_a_refusal_is_news_once_and_holds_for_its_group
    topic = topics.first
    other = topic.with(group: "other")
    assert_nil @application.fall_back(topic, error(:fenced_instance_id))
    assert_equal %i[first again], Array.new(2) { @application.fall_back(topic, error("UNSUPPORTED_VERSION")) }
    assert_equal %w[classic consumer], [protocol(topic), protocol(other)]
    assert_equal :first, @application.fall_back(other, error(:topic_authorization_failed))
    @application.config.group_protocol = :consumer
    assert_nil @application.fall_back(other, error(:unsupported_version))
  end

  def test_both_protocols_are_tried_in_turn_where_neither_lets_it_in
    topic = topics.first
    refute @application.ask_again?(topic, error(:inconsistent_group_protocol))
    @application.fall_back(topic, error(:group_id_not_found))
    refute @application.ask_again?(topic, error(:transport))
    assert @application.ask_again?(topic, error(:inconsistent_group_protocol))
    assert_equal "consumer", protocol(topic)
  end
end
