# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaErrorsTest < GuildhallTest
  def test_a_topic_that_is_missing_comes_with_what_to_do
    read = Guildhall::Kafka::Reading::ReadError.new(code: 3, message: "Subscribed topic not available: orders", topic: "orders",
      partition: 0, offset: 0)
    error = Guildhall::Kafka::KafkaError.from(read)
    assert_equal "UNKNOWN_TOPIC_OR_PART: Subscribed topic not available: orders; create the topic, or correct its name in the routes", error.message
    assert_equal 3, error.code
  end

  def test_other_errors_are_as_librdkafka_words_them
    read = Guildhall::Kafka::Reading::ReadError.new(code: -195, message: "broker down", topic: nil, partition: -1, offset: -1)
    assert_equal "_TRANSPORT: broker down", Guildhall::Kafka::KafkaError.from(read).message
  end
end
