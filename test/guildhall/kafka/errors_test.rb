# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaErrorsTest < GuildhallTest
  def read(code, message, topic: nil, partition: -1)
    Guildhall::Kafka::Reading::ReadError.new(code:, message:, topic:, partition:, offset: -1)
  end

  def test_a_topic_that_is_missing_comes_with_what_to_do
    error = Guildhall::Kafka::KafkaError.from(read(3, "Subscribed topic not available: orders", topic: "orders", partition: 0))
    assert_equal "UNKNOWN_TOPIC_OR_PART: Subscribed topic not available: orders; create the topic, or correct its name in the routes", error.message
    assert_equal 3, error.code
  end

  def test_other_errors_are_as_librdkafka_words_them
    assert_equal "_BAD_MSG: bad", Guildhall::Kafka::KafkaError.from(read(-199, "bad")).message
  end

  def test_an_error_that_does_not_name_its_topic_is_given_it
    error = Guildhall::Kafka::KafkaError.from(read(29, "Fetch from broker 1 failed", topic: "orders", partition: 2))
    assert_match(%r{\ATOPIC_AUTHORIZATION_FAILED: orders/2: Fetch from broker 1 failed; grant READ on topic orders\z}, error.message)
  end

  def test_a_listener_that_asks_for_no_login
    detail = "SASL SCRAM-SHA-256 mechanism handshake failed: Broker: Request not valid in current SASL state: broker's supported mechanisms: "
    error = Guildhall::Kafka::AuthenticationError.at({"bootstrap.servers": "b:1"}, -169, detail)
    assert_match(/check security\.protocol: this listener asks for no login/, error.message)
    refute_match(/sasl\.password/, error.message)
    error = Guildhall::Kafka::AuthenticationError.at({"bootstrap.servers": "b:1"}, -169, "Unsupported SASL mechanism: broker's supported mechanisms: PLAIN")
    assert_includes error.message, "sasl.password"
  end

  # As a member of the consumer protocol is told.
  def test_a_topic_that_is_not_named_is_one_of_the_group
    error = Guildhall::Kafka::KafkaError.from(read(29, "ConsumerGroupHeartbeat failed"), "shop")
    assert_includes error.message, "; grant READ on each topic of group shop: with the consumer protocol brokers refuse the whole group"
    error = Guildhall::Kafka::KafkaError.from(read(29, "Fetch from broker 1 failed", topic: "orders", partition: 2), "shop")
    assert_includes error.message, "grant READ on topic orders"
  end

  def test_a_missing_right_is_a_class_of_its_own
    error = Guildhall::Kafka::KafkaError.of(30, "committed offsets of group shop")
    assert_instance_of Guildhall::Kafka::AuthorizationError, error
    assert_match(/\AGROUP_AUTHORIZATION_FAILED: committed offsets of group shop; grant the user READ on the consumer group/, error.message)
    assert_instance_of Guildhall::Kafka::KafkaError, Guildhall::Kafka::KafkaError.of(5)
  end

  def test_who_does_not_answer_and_who_refuses_the_credentials
    settings = {"bootstrap.servers": "k:9092"}
    assert_equal "Kafka at k:9092 does not answer (topics): check that a broker listens at bootstrap.servers, and the network between",
      Guildhall::Kafka::UnreachableError.at(settings, -185, "topics").message
    refused = Guildhall::Kafka::AuthenticationError.at(settings, -169, "Authentication failed")
    assert_kind_of Guildhall::Kafka::UnreachableError, refused
    assert_match(/\AKafka at k:9092 refuses the credentials \(Authentication failed\): check sasl\.mechanism, and sasl\.username/, refused.message)
    assert_match(/\ATLS with Kafka at k:9092 fails \(handshake\): check security\.protocol/, Guildhall::Kafka::AuthenticationError.at(settings, -181, "handshake").message)
  end

  def test_what_became_of_a_connection_stands_in_place_of_the_general_advice
    settings = {"bootstrap.servers": "k:9092"}
    why = {broker: "k:9092", reason: "Failed to resolve", advice: "check DNS"}
    silent = Guildhall::Kafka::UnreachableError.at(settings, -185, "topics").because(**why)
    assert_equal "Kafka at k:9092 does not answer (topics): broker k:9092: Failed to resolve; check DNS", silent.message
    refused = Guildhall::Kafka::AuthenticationError.at(settings, -169, "no")
    assert_same refused, refused.because(**why)
  end
end
