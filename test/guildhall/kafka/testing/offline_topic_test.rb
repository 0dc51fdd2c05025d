# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/json"

class OfflineTopicTest < GuildhallTest
  class Orders < Guildhall::Kafka::Consumer
    SEEN = Queue.new
    def consume
      messages.each do |message|
        raise KeyError, "no id" unless message.payload["id"]

        SEEN << [message.payload["id"], message.key, attempt]
        produce_async(topic: "copies", payload: {"copy" => message.payload["id"]})
      end
    end

    def shutdown = SEEN << :shutdown
    def tick = SEEN << :tick
  end

  class Copies < Guildhall::Kafka::Consumer
    def consume
      transaction do
        messages.each { |message| produce_async(topic: "copies", payload: message.payload) }
        raise KeyError, "at first" unless retrying?

        mark_as_consumed(messages.to_a.last)
      end
    end
  end

  def setup
    Orders::SEEN.clear
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    @application.routes.draw do
      topic "copies" do
        serializer Guildhall::JSON
      end
      pattern(/\Aorders/) do
        consumer Orders
        deserializer Guildhall::JSON.lazy
        dead_letter_queue topic: "dead", max_retries: 1, dispatch_undecodable: true
      end
      topic("stubborn") { consumer Orders }
      topic("once") do
        consumer Copies
        deserializer Guildhall::JSON
        transactional
      end
    end
  end

  # It is as no broker would have it: what the consumer does with it tells nothing.
  def test_what_no_producer_sends_is_not_delivered
    orders = topic("orders")
    {
      [{"id" => 1}, {key: 7}] => /key must be a String or nil, not an Integer/,
      [{"id" => 1}, {headers: [1]}] => /headers must be a Hash/,
      [{"id" => 1}, {timestamp: "now"}] => /timestamp must be milliseconds/,
      [Guildhall::Kafka::Testing.message({"id" => 1}, key: :a), {}] => /key must be a String/
    }.each { |(payload, given), text| assert_match text, assert_raises(Guildhall::ArgumentError) { orders.deliver(payload, **given) }.message }
    assert_match(/deliver needs a message/, assert_raises(Guildhall::ArgumentError) { orders.deliver }.message)
    assert_equal [0, []], [orders.delivered, orders.calls]
    given = []
    middleware = lambda do |call, &consume|
      given << [call.messages.first.headers, call.messages.first.timestamp] if call.event == :consume
      consume.call
    end
    @application.config.middleware = [middleware]
    topic("orders").deliver({"id" => 1}, headers: {number: 1, none: nil, many: [:a, nil]}, timestamp: 1_700_000_000_250)
    assert_equal [{"number" => "1", "none" => nil, "many" => ["a", nil]}, Time.at(1_700_000_000.25r)], given.first
  end

  def test_wrong_uses_say_what_to_do
    orders = topic("orders")
    {
      -> { orders.travel(nil) } => /travel takes seconds from 0 on .*, not nil/,
      -> { orders.travel(-1) } => /not -1/,
      -> { orders.travel(Float::INFINITY) } => /not Infinity/,
      -> { orders.leave(:nonsense) } => /leave takes :shutdown or :revoked, not :nonsense/,
      -> { orders.leave.deliver({"id" => 1}) } => /orders has left: make another one/,
      -> { Guildhall::Kafka::Testing.topic("orders", group: "other", application: @application) } => /topic orders: unknown group other; there are guildhall/,
      -> { Guildhall::Kafka::Testing.factory(key: "a") } => /factory needs a block/,
      -> { Guildhall::Kafka::Testing.factory(kye: "a") { 1 } } => /unknown keyword kye; there are key/,
      -> { Guildhall::Kafka::Testing.factory(&:to_s).one("id" => 1) } => /a payload that is a Hash: this factory makes String/
    }.each { |wrong, text| assert_match text, assert_raises(Guildhall::ArgumentError, text.inspect, &wrong).message }
    assert_equal "orders", Guildhall::Kafka::Testing.topic(:orders, application: @application).name
  end

  # The double took any message.
  def test_what_the_producer_refuses_is_refused_here_too
    {{topc: "nope", payload: "x"} => /topic/, {topic: "no good", payload: "x"} => /topic/, {topic: "t", payload: "x", key: 5} => /key/}.each do |message, text|
      error = assert_raises(Guildhall::ArgumentError) { Guildhall::Kafka::Testing::Offline::Producer.new([]).produce_async(message) }
      assert_match text, error.message
    end
    producer = Guildhall::Kafka::Testing::Offline::Producer.new([])
    producer.produce_sync(topic: "t", payload: nil, key: "", headers: {"none" => nil})
    assert_equal [{topic: "t", payload: nil, key: "", headers: {"none" => nil}}], producer.produced
  end

  def test_consumes_as_the_route_says
    topic = topic("orders").deliver({"id" => 1}, '{"id": 2}', nil.to_s, key: "k")

    assert_equal [[1, "k", 1], [2, "k", 1]], Array.new(2) { Orders::SEEN.pop }
    assert_equal 3, topic.done
    assert_equal([["dead", ""]], topic.dead_letters.map { |letter| letter.values_at(:topic, :payload) })
    assert_equal(['{"copy":1}', '{"copy":2}'], topic.produced.map { |message| message[:payload] })
  end

  def test_failures_are_retried_without_waiting
    topic = topic("orders-eu").deliver({"id" => 1}, {"other" => 2}, {"id" => 3}).tick.leave

    assert_equal [3, %w[2]], [topic.done, topic.dead_letters.map { |letter| letter[:payload][/\d/] }]
    assert_includes topic.errors.map(&:class), KeyError
    assert_equal %i[tick shutdown], Array.new(Orders::SEEN.size) { Orders::SEEN.pop }.last(2)
  end

  def test_a_transaction_is_committed_or_not
    topic = topic("once").deliver({"id" => 1}, {"id" => 2})

    assert_equal [2, ['{"id":1}', '{"id":2}'], [KeyError]], [topic.done, topic.produced.map { |message| message[:payload] }, topic.errors.map(&:class)]
  end

  def test_a_topic_without_a_route
    error = assert_raises(Guildhall::ArgumentError) { topic("order") }
    assert_match(/unknown topic order.*stubborn/, error.message)
  end

  def test_a_topic_whose_route_has_no_consumer
    error = assert_raises(Guildhall::ArgumentError) { topic("copies") }
    assert_equal "the route of topic copies has no consumer", error.message
  end

  def test_a_payload_without_braces_and_a_keyword_that_there_is_not
    {{"id" => 7} => /\Aunknown keyword id; there are key, headers, timestamp; a payload that is a Hash needs braces/,
     {partition: 3} => /\Aunknown keyword partition; there are key/, {keyy: "a"} => /\Aunknown keyword keyy; did you mean key\?/}
      .each do |keywords, message|
        assert_match message, assert_raises(Guildhall::ArgumentError) { topic("orders").deliver([1], **keywords) }.message
      end
  end

  def test_what_would_be_retried_for_ever
    error = assert_raises(Guildhall::TaskError) { topic("stubborn").deliver("x") }
    assert_match(/retried for ever/, error.message)
  end

  private

  def topic(name) = Guildhall::Kafka::Testing.topic(name, application: @application)
end
