# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "waterdrop" # before another test starts a Ractor

# How often the blocks of the routes are evaluated: they are the application's code.
class KafkaRoutesTest < GuildhallTest
  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  # As waterdrop's producer, for messages that are due.
  class Producer
    include Guildhall::Kafka::Delaying::DelayedProducing

    def produce_sync(message) = message
  end

  def setup
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    @application.config.logger = nil
    @evaluated = 0
  end

  def teardown
    @application.stop(timeout: 1)
  end

  def draw(&more)
    test = self
    @application.routes.draw do
      test.instance_variable_set(:@evaluated, test.instance_variable_get(:@evaluated) + 1)
      delay_topics(5)
      instance_eval(&more) if more
    end
  end

  def test_a_message_for_later_evaluates_the_blocks_once_at_most
    draw { topic("t") { serializer Guildhall::JSON } }
    @application.validate!
    before = @evaluated
    producer = Producer.new
    producer.delay_topics = @application.routes.method(:delay_topics)
    3.times { producer.produce_later(at: Time.at(0), topic: "t", payload: "x") }
    3.times { @application.producer.middleware.run({topic: "t", payload: {"id" => 1}}) }
    assert_equal before, @evaluated
  end

  def test_the_delay_topics_are_those_of_the_latest_blocks
    draw
    assert_equal "guildhall.delay", @application.routes.delay_topics.prefix
    @application.routes.draw { topic("t") { consumer Handles } }
    assert_equal %w[guildhall.delay.5 t], @application.routes.latest_topics.map(&:name)
    @application.config.group_id = "g"
    @application.validate!
    assert_equal "g.delay", @application.routes.delay_topics.prefix
  end

  def test_without_delay_topics_the_blocks_are_evaluated_once_too
    evaluated = 0
    @application.routes.draw { (evaluated += 1) && topic("t") { consumer Handles } }
    3.times { assert_nil @application.routes.delay_topics }
    assert_equal 1, evaluated
  end

  def test_a_block_may_ask_for_the_producer
    application = @application
    producers = []
    draw { (producers << application.producer) && topic("t") { serializer Guildhall::JSON } }
    message = @application.producer.middleware.run({topic: "t", payload: {"id" => 1}})
    assert_equal '{"id":1}', message[:payload]
    assert_equal [@application.producer], producers.uniq
  end
end
