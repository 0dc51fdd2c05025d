# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"

# What Kafka takes and waterdrop, or its client, would not: sent to a broker in this process, and read again.
class KafkaWireTest < GuildhallTest
  # As Hashes of the reader are: frozen, with several values of a name, and without a value.
  HEADERS = Ractor.make_shareable({"one" => "1", "many" => ["a", nil, "\xFF\x00".b], "none" => nil, "empty" => "", "bytes" => "\x80\x00\xFE".b})

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @application = Guildhall::Kafka::Application.new
    @application.config.logger = nil
    @application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
    @broker.create_topic("in", partitions: 1)
    @broker.create_topic("out", partitions: 1)
  end

  def teardown
    @application.stop(timeout: 10)
    @broker.stop
  end

  def producer = @application.producer

  # A step that changes the headers in place, as tracers do.
  def adding(name, value)
    lambda do |message|
      (message[:headers] ||= {})[name] = value
      message
    end
  end

  # @return [Array<Guildhall::Kafka::Message>] all of the topic
  def read(topic) = @application.each_message(topic).to_a

  def test_headers_of_a_message_can_be_given_on_although_middleware_adds_some
    producer.middleware.prepend(adding("first", "x"))
    producer.middleware.append(adding("last", nil))
    producer.produce_sync(topic: "in", payload: "1", headers: HEADERS)
    received = read("in").first.headers
    assert_equal HEADERS.merge("first" => "x", "last" => nil), received
    assert_predicate received, :frozen?
    producer.produce_many_sync([{topic: "out", payload: "2", headers: received}.freeze, {topic: "out", payload: "3"}])
    assert_equal [received, {"first" => "x", "last" => nil}], read("out").map(&:headers)
  end

  def test_steps_of_the_application_may_add_headers_as_well
    @application.config.producer_middleware << adding("app", "shop")
    producer.produce_async(topic: "in", payload: "1", headers: HEADERS).wait
    assert_equal HEADERS.merge("app" => "shop"), read("in").first.headers
    refute HEADERS.key?("app")
  end

  def test_headers_that_the_client_takes_cost_nothing
    headers = {"one" => "1", "many" => %w[a b]}
    objects = lambda do |count|
      before = GC.stat(:total_allocated_objects)
      count.times { Guildhall::Kafka::Producing::Wire.headers(headers) }
      GC.stat(:total_allocated_objects) - before
    end
    objects.call(10)
    assert_operator objects.call(1_000), :<, 500
  end

  def test_a_key_may_be_empty
    producer.produce_sync(topic: "in", payload: "1", key: "")
    producer.produce_sync(topic: "in", payload: "2")
    assert_equal ["", nil], read("in").map(&:key)
  end

  def test_a_message_for_later_may_have_an_empty_key_and_headers_of_another_message
    consumer = Class.new(Guildhall::Kafka::Consumer) { def consume = nil }
    @application.routes.draw do
      delay_topics 1, prefix: "later"
      topic("in") { consumer consumer }
    end
    @broker.create_topic("later.1", partitions: 1)
    producer.produce_later(at: Time.now + 60, topic: "out", payload: "1", key: "", headers: HEADERS)
    waiting = read("later.1").first
    assert_equal ["", HEADERS], [waiting.key, waiting.headers.slice(*HEADERS.keys)]
  end

  def test_a_consumed_message_is_sent_on_as_it_was
    handle = Guildhall::Kafka::Producing::Delivery.produce(producer.client, {topic: "out", payload: "1", key: "", headers: HEADERS})
    Guildhall::Kafka::Producing::Delivery.wait(handle, 60_000)
    assert_equal [["", HEADERS]], read("out").map { |message| [message.key, message.headers] }
  end

  def test_a_dead_letter_has_the_headers_of_the_message
    consumer = Class.new(Guildhall::Kafka::Consumer) { def consume = raise("never") }
    @application.config.pause_timeout = 0.05
    @application.routes.draw do
      topic "in" do
        consumer consumer
        initial_offset :earliest
        dead_letter_queue topic: "out", max_retries: 0
      end
    end
    producer.produce_sync(topic: "in", payload: "1", key: "", headers: HEADERS)
    sent = Thread::Queue.new
    @application.instrumentation.subscribe("dead_letter_queue.dispatched") { sent << true }
    @application.start
    assert sent.pop(timeout: 60), "no dead letter"
    letter = read("out").first
    assert_equal ["", HEADERS], [letter.key, letter.headers.slice(*HEADERS.keys)]
  end
end
