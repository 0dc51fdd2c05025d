# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/embedded_broker"

class KafkaApplicationTest < GuildhallTest
  # Stops the application from inside.
  class Stopping < Guildhall::Kafka::Consumer
    ANSWERS = Thread::Queue.new

    def consume
      ANSWERS << self.class::APPLICATION.stop(timeout: 10)
    end
  end

  # Consumes nothing.
  class Idle < Guildhall::Kafka::Consumer
    def consume; end
  end

  def setup
    @broker = Guildhall::Kafka::EmbeddedBroker.start
    @broker.create_topic("t", partitions: 1)
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers, "auto.offset.reset": "earliest"}
  end

  def teardown
    @application.stop(timeout: 5)
    @broker.stop
  end

  def test_a_consumer_that_stops_the_application_does_not_wait_for_itself
    Stopping.const_set(:APPLICATION, @application)
    @application.routes.draw { topic("t") { consumer Stopping } }
    @application.start
    produce
    refute Stopping::ANSWERS.pop(timeout: 30)
    assert @application.wait_stopped(20)
  end

  def test_whoever_is_told_an_event_may_stop_the_application
    @application.routes.draw { topic("t") { consumer Idle } }
    answers = Thread::Queue.new
    @application.instrumentation.subscribe("rebalance.partitions_assigned") { answers << @application.stop(timeout: 10) }
    @application.start
    refute answers.pop(timeout: 30)
    assert @application.wait_stopped(20)
  end

  def test_what_could_not_be_started_leaves_nothing_and_can_be_started_again
    @application.routes.draw { topic("t") { consumer Idle } }
    application = @application
    def application.begin_timing = raise("no")
    assert_equal "no", assert_raises(RuntimeError) { @application.start }.message
    assert_equal :initialized, @application.state
    assert_empty(Thread.list.filter_map(&:name).grep(/guildhall (runner|listener|timer)/))
    @application.singleton_class.remove_method(:begin_timing)
    @application.start
    eventually(30) { @application.partitions.any? }
  end

  private

  def produce
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    producer.produce(topic: "t", payload: "x").wait
  ensure
    producer&.close
  end
end
