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

  def discovery(*answers)
    Guildhall::Kafka::Broker::TopicDiscovery.new(Client.new(answers), {"topic.metadata.refresh.interval.ms": 10}) { |name| name != "no" }
  end

  def test_it_finds_others_and_asks_again_after_an_error
    discovery = discovery(["no"], Rdkafka::ClosedInnerError.new, ["no"])
    assert_empty discovery.find
    assert_raises(Rdkafka::ClosedInnerError) { discovery.find_others }
    assert_nil discovery.find_others
    assert_equal ["orders.1"], discovery.find_others
    assert_nil discovery.find_others
  end

  def test_where_no_broker_has_answered_the_topics_that_are_found_then_are_others
    discovery = discovery(-> {}, %w[no b a])
    assert_empty discovery.find
    assert_equal %w[a b], discovery.find_others
  end
end
