# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaTopicDiscoveryTest < GuildhallTest
  # Answers what the test says, or raises it.
  Client = Struct.new(:answers) do
    def topic_names(_ms) = answers.shift.then { |answer| answer.is_a?(Exception) ? raise(answer) : answer || ["orders.1"] }
  end

  def test_it_asks_again_after_an_error_and_stop_raises_nothing
    errors = Thread::Queue.new
    found = Thread::Queue.new
    client = Client.new([[], Rdkafka::ClosedInnerError.new, NotImplementedError.new("no")])
    discovery = Guildhall::Kafka::Broker::TopicDiscovery.new(client, {"topic.metadata.refresh.interval.ms": 10}, on_error: ->(error) { errors << error }) { true }
    assert_empty discovery.find
    discovery.start { |names| found << names }
    assert_equal ["orders.1"], found.pop(timeout: 30)
    assert_equal [Rdkafka::ClosedInnerError, NotImplementedError], Array.new(2) { errors.pop.class }
  ensure
    discovery&.stop
  end
end
