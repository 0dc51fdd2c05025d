# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"

class KafkaEmbeddedBrokerTest < GuildhallTest
  PROGRAM = <<~'RUBY'
    require "guildhall/kafka"
    require "guildhall/kafka/testing"
    Guildhall::Kafka::Testing::EmbeddedBroker.start.create_topic("t", partitions: 2)
    fork { nil }.then { |child| Process.wait(child) } # has none of its threads
  RUBY

  # More than every other process crashed.
  def test_a_process_that_does_not_stop_it_ends_in_order
    6.times { assert_ruby(PROGRAM) }
  end

  def test_an_admin_client_creates_topics_of_it
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      Guildhall::Kafka::Broker::AdminClient.open({"bootstrap.servers": broker.bootstrap_servers}) do |admin|
        2.times { admin.create_topic("t", -1, {"cleanup.policy": "compact"}).wait(max_wait_timeout_ms: 1) } # as many as the broker says
        code, topics = admin.metadata(20_000)
        assert_equal [0, [["t", 1]]], [code, topics.map { |name, _, leaders| [name, leaders.size] }]
      end
    end
  end
end
