# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaConfigTest < GuildhallTest
  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  class HandlesNothing < Guildhall::Kafka::Consumer; end

  def setup
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "localhost:1"}
  end

  def test_all_faults_of_settings_and_routes_are_told_at_once
    @application.config.concurrency = 0
    @application.config.concurency = 3
    @application.config.shutdown_timeout = 90_000
    @application.config.deserializing.parallel.min_payloads = "many"
    @application.config.producer = {"compresion.codec": "zstd"}
    @application.config.kafka = {"bootstrap.server" => "x", "enable.auto.offset.store" => true, "session.timeout.ms": -1}
    @application.routes.draw do
      topic("no good name!") { consumer Handles }
      topic("orders") do
        consumer HandlesNothing
        deserialiser :x
        virtual_partitions partitioner: 3
        dead_letter_queue topic: "a b", max_retries: -1
        serializer 5
      end
      topc("x")
      pattern(/x/) { nil }
    end
    error = assert_raises(Guildhall::ConfigurationError) { @application.start }
    [
      "concurrency has to be a positive Integer, not 0", "no setting concurency; did you mean concurrency?",
      "shutdown_timeout is in seconds: 90000 looks like milliseconds", "deserializing.parallel.min_payloads has to be",
      'kafka needs "bootstrap.servers"', "did you mean bootstrap.servers?", "must not set enable.auto.offset.store",
      "session.timeout.ms", 'topic "no good name!": is no name', "has no method consume", "did you mean deserializer",
      "partitioner has no method call", "dead_letter_queue topic", "max_retries", "there is no topc; did you mean topic?",
      "topic /x/: needs a consumer", "did you mean compression.codec?", "serializer 5 has neither encode nor call"
    ].each { |text| assert_includes error.message, text }
    assert_equal :initialized, @application.state
  end

  def test_good_settings_have_no_faults
    @application.routes.draw do
      defaults { max_messages 10 }
      topic("a") { consumer Handles }
      consumer_group("others") { pattern(/\Ab-/) { consumer(Handles) && max_messages(20) } }
    end
    a, b = @application.validate!
    assert_equal ["a", "guildhall", 10, "a"], [a.name, a.group, a.max_messages, a.subscription]
    assert_equal ["others", 20, "^b-", true, false], [b.group, b.max_messages, b.subscription, b.match?("b-1"), b.match?("ab-1")]
    assert_match(%r{^others +/\\Ab-/ +KafkaConfigTest::Handles}, @application.routes.to_s)
  end

  def test_a_topic_with_a_serializer_alone_is_produced_to
    @application.routes.draw do
      topic("a") { consumer Handles }
      topic("b") { serializer Guildhall::JSON }
    end
    assert_equal [true, false], @application.validate!.map(&:consumed?)
    assert_match(/^guildhall +b +\(produced to\)$/, @application.routes.to_s)
    assert_equal ["a"], Guildhall::Kafka::Routing::Selection.new.choose(@application.validate!).map(&:name)
  end

  def test_a_topic_twice_in_a_group_is_a_fault
    @application.routes.draw { 2.times { topic("a") { consumer Handles } } }
    assert_includes assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message, "routed 2 times"
  end

  def test_no_topic_is_a_fault
    assert_includes assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message, "no topic is routed"
  end

  def test_a_parallel_deserializer_has_to_be_shareable
    rules = [+"x"]
    deserializer = Object.new
    deserializer.instance_variable_set(:@rules, rules)
    def deserializer.call(bytes) = bytes
    @application.routes.draw do
      topic("a") do
        consumer Handles
        deserializer deserializer
        deserializing parallel: true
      end
    end
    assert_includes assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message, "deserializer.@rules[0] is not"
  end

  def test_a_rebalance_must_not_wait_longer_than_polling_may_pause
    @application.routes.draw do
      topic("a") { consumer Handles }
      topic("b") do
        consumer Handles
        kafka("max.poll.interval.ms": "8000", "session.timeout.ms": 6_000)
      end
      topic("c") do
        consumer Handles
        kafka("max.poll.interval.ms": 20_000)
      end
    end
    @application.config.revocation_timeout = 8
    error = assert_raises(Guildhall::ConfigurationError) { @application.validate! }
    assert_includes error.message, "revocation_timeout (8 s) has to be shorter than max.poll.interval.ms (8000 ms)"
    assert_includes error.message, "session.timeout.ms (45000) must not be longer than max.poll.interval.ms (20000)"
    assert_equal 2, error.message.scan("  - ").size
  end

  def test_what_may_be_in_flight_is_enough_for_all_runners
    @application.routes.draw do
      topic("a") do
        consumer Handles
        max_bytes 2_000_000
      end
    end
    @application.config.max_messages_in_flight = 7_999
    @application.config.max_bytes_in_flight = 31_999_999
    error = assert_raises(Guildhall::ConfigurationError) { @application.validate! }
    assert_includes error.message, "max_messages_in_flight has to be at least 8000, not 7999"
    assert_includes error.message, "max_bytes_in_flight has to be at least 32000000, not 31999999"
    @application.config.max_messages_in_flight = 8_000
    @application.config.max_bytes_in_flight = 32_000_000
    assert_equal 1, @application.validate!.size
  end

  def test_the_group_comes_from_kafka_where_it_is_not_set
    assert_equal "guildhall", @application.config.group_id
    @application.config.kafka = {"group.id": "mine"}
    assert_equal "mine", @application.config.group_id
    @application.config.group_id = "ours"
    assert_equal "ours", @application.config.group_id
  end

  def test_only_some_groups_or_topics
    @application.routes.draw { topic("a") { consumer Handles } }
    error = assert_raises(Guildhall::ConfigurationError) { @application.start(topics: ["b"], groups: ["nobody"]) }
    assert_includes error.message, "group nobody, topic b"
  end
end
