# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "socket"
require "waterdrop" # before another test starts a Ractor

# Topics that the framework needs, where no broker can be asked for them yet.
class KafkaTopicCreationTest < GuildhallTest
  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  def application(servers)
    Guildhall::Kafka::Application.new.tap do |application|
      application.config.kafka = {"bootstrap.servers": servers}
      application.config.logger = nil
      application.routes.draw do
        topic("t") do
          consumer Handles
          retry_topics 1, prefix: "again"
          dead_letter_queue topic: "dead"
        end
      end
    end
  end

  def creation(application, errors)
    Guildhall::Kafka::Connection::TopicCreation.new({"bootstrap.servers": application.config.kafka[:"bootstrap.servers"]}, application.validate!) { |*error| errors << error }
  end

  def test_without_a_broker_nothing_is_known
    silent = TCPServer.new("127.0.0.1", 0)
    errors = []
    refute creation(application("127.0.0.1:#{silent.addr[1]}"), errors).run
    assert_empty errors
  ensure
    silent&.close
  end

  def test_what_is_there_is_not_created
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      broker.create_topic("again.1", partitions: 1)
      errors = []
      assert creation(application(broker.bootstrap_servers), errors).run
      assert_empty errors
    end
  end

  def test_dead_letters_of_routes_that_have_one_of_their_own
    application = application("")
    application.routes.draw do
      topic("jobs") do
        consumer Handles
        dead_letter_queue_of_its_own
      end
    end
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      %w[again.1 jobs].each { |name| broker.create_topic(name, partitions: 2) }
      application.config.kafka = {"bootstrap.servers": broker.bootstrap_servers}
      errors = []
      2.times { assert creation(application, errors).run }
      assert_empty errors
      assert_equal [0, 0], broker.watermarks("jobs.dead", 1)
      assert_raises(Guildhall::Kafka::EmbeddedBrokerError) { broker.create_topic("jobs.dead") } # as many partitions as the topic
    end
  end

  def test_a_listener_asks_until_a_broker_answers_says_so_once_and_can_be_stopped_meanwhile
    server = TCPServer.new("127.0.0.1", 0) # takes connections, and answers nothing
    application = application("127.0.0.1:#{server.addr[1]}")
    errors = Thread::Queue.new
    application.instrumentation.subscribe("error.occurred") { |event| errors << event.payload.values_at(:type, :topic, :error) }
    connections = Thread::Queue.new
    accepting = Thread.new { loop { connections << server.accept } }
    application.start
    type, topic, error = errors.pop(timeout: 60)
    assert_equal ["topic_creation", "again.1", Guildhall::TimeoutError], [type, topic, error.class]
    connections.clear
    assert connections.pop(timeout: 60), "nobody has asked again"
    application.stop(timeout: 20)
    assert_empty errors
  ensure
    accepting&.kill&.join
    connections&.size&.times { connections.pop.close }
    server&.close
  end
end
