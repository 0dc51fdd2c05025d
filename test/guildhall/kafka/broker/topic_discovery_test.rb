# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaTopicDiscoveryTest < GuildhallTest
  # Answers what the test says, or raises it, or calls it.
  Client = Struct.new(:answers) do
    def topic_names(_ms)
      case answer = answers.shift
      when Exception then raise answer
      when Proc then answer.call
      else answer || ["orders.1"]
      end
    end
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

  def test_a_stop_does_not_wait_for_an_answer
    asked = Thread::Queue.new
    never = Thread::Queue.new
    client = Client.new([[], -> { (asked << true) && never.pop }])
    discovery = Guildhall::Kafka::Broker::TopicDiscovery.new(client, {"topic.metadata.refresh.interval.ms": 10}, on_error: ->(error) { raise error }) { true }
    assert_empty discovery.find
    discovery.start { flunk }
    assert asked.pop(timeout: 30)
    assert discovery.stop
  end
end
