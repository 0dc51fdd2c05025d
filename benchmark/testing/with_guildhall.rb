# frozen_string_literal: true

require "guildhall/kafka/testing/assertions"
require "guildhall/json"

class OrdersConsumer < Guildhall::Kafka::Consumer
  def consume
    messages.each do |message|
      Shop.ship(message.payload.fetch("id"), message.key) if message.payload["paid"]
      mark_as_consumed(message)
    end
  end

  def tick = produce_async(topic: "ticks", payload: "tick")
end

module Shop
  def self.ship(id, key) = Guildhall::Kafka.producer.produce_sync(topic: "shipments", payload: {id:}.to_json, key:, headers: {"by" => "shop"})
end

Guildhall::Kafka.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
Guildhall::Kafka.routes do
  topic "orders" do
    consumer OrdersConsumer
    deserializer Guildhall::JSON.lazy
    dead_letter_queue topic: "orders.dead", max_retries: 1, dispatch_undecodable: true
  end
end

# Ten tests of a consumer; benchmark/testing/with_karafka.rb has the same.
class WithGuildhall < Minitest::Test
  include Guildhall::Kafka::Testing::Assertions

  # begin
  def setup = @orders = Guildhall::Kafka::Testing.topic("orders")

  def test_a_paid_order_is_shipped
    @orders.deliver({"id" => 7, "paid" => true}, key: "a")
    assert_produced @orders, topic: "shipments", payload: {"id" => 7}, key: "a", headers: {by: "shop"}, times: 1
  end

  def test_another_is_not
    @orders.deliver({"id" => 7, "paid" => false})
    refute_produced @orders, topic: "shipments"
  end

  def test_keys_of_their_own
    @orders.deliver(*%w[a b].map { |key| Guildhall::Kafka::Testing.message({"id" => 7, "paid" => true}, key:) })
    assert_equal %w[a b], @orders.produced.map { |message| message[:key] }
  end

  def test_all_are_done
    @orders.deliver(*Array.new(3) { |id| {"id" => id, "paid" => true} })
    assert_marked @orders
  end

  def test_a_tombstone_is_an_order_without_fields
    @orders.deliver(nil)
    assert_dead_lettered @orders, payload: nil, because: NoMethodError
  end

  def test_one_without_an_id_becomes_a_dead_letter_alone
    @orders.deliver({"id" => 1, "paid" => true}, {"paid" => true}, {"id" => 3, "paid" => true})
    assert_dead_lettered @orders, payload: {"paid" => true}, because: KeyError, times: 1
    assert_produced @orders, topic: "shipments", times: 2
  end

  def test_invalid_json_becomes_a_dead_letter
    @orders.deliver("{")
    assert_dead_lettered @orders, payload: "{", because: Guildhall::JSON::ParseError
  end

  def test_a_failure_that_passes_is_tried_again
    failures = [IOError.new("away")]
    Shop.singleton_class.prepend(Module.new { define_method(:ship) { |*given| (error = failures.pop) ? raise(error) : super(*given) } })
    @orders.deliver({"id" => 7, "paid" => true})
    assert_equal [[IOError], 1], [@orders.errors.map(&:class), @orders.produced.size]
  end

  def test_code_that_is_no_consumer
    assert_produced(topic: "shipments", key: "a") { Shop.ship(7, "a") }
  end

  def test_tick
    assert_produced @orders.tick, topic: "ticks", payload: "tick"
  end
  # end
end
