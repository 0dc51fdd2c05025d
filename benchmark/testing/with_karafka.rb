# frozen_string_literal: true

require "json"
require "karafka"
require "karafka/testing/minitest/helpers"

class OrdersConsumer < Karafka::BaseConsumer
  def consume
    messages.each do |message|
      Shop.ship(message.payload.fetch("id"), message.key) if message.payload["paid"]
      mark_as_consumed(message)
    end
  end

  def tick = producer.produce_async(topic: "ticks", payload: "tick")
end

module Shop
  def self.ship(id, key) = Karafka.producer.produce_sync(topic: "shipments", payload: {id:}.to_json, key:, headers: {"by" => "shop"})
end

class KarafkaApp < Karafka::App
  setup { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }
  routes.draw do
    topic "orders" do
      consumer OrdersConsumer
      dead_letter_queue topic: "orders.dead", max_retries: 1
    end
  end
end

# Ten tests of a consumer; benchmark/testing/with_guildhall.rb has the same. Karafka's testing gem calls `consume` and no more: what comes
# after that (marks, retries, dead letters) is stubbed here, or only its cause is tested.
class WithKarafka < Minitest::Test
  include Karafka::Testing::Minitest::Helpers

  # begin
  def setup
    @consumer = @karafka.consumer_for("orders")
    @marked = marked = []
    @consumer.define_singleton_method(:mark_as_consumed) { |message, *| marked << message.offset }
  end

  def shipments = @karafka.produced_messages.select { |message| message[:topic] == "shipments" }

  def test_a_paid_order_is_shipped
    @karafka.produce({"id" => 7, "paid" => true}.to_json, key: "a")
    @consumer.consume
    assert_equal [{topic: "shipments", payload: '{"id":7}', key: "a", headers: {"by" => "shop"}}], shipments
  end

  def test_another_is_not
    @karafka.produce({"id" => 7, "paid" => false}.to_json)
    @consumer.consume
    assert_empty shipments
  end

  def test_keys_of_their_own
    %w[a b].each { |key| @karafka.produce({"id" => 7, "paid" => true}.to_json, key:) }
    @consumer.consume
    assert_equal %w[a b], shipments.map { |message| message[:key] }
  end

  def test_all_are_done
    3.times { |id| @karafka.produce({"id" => id, "paid" => true}.to_json) }
    @consumer.consume
    assert_equal [0, 1, 2], @marked
  end

  def test_a_tombstone_is_an_order_without_fields
    @karafka.produce(nil)
    assert_raises(NoMethodError) { @consumer.consume }
  end

  # It fails; that it becomes one, and is the only one, is not tested.
  def test_one_without_an_id_becomes_a_dead_letter_alone
    [{"id" => 1, "paid" => true}, {"paid" => true}, {"id" => 3, "paid" => true}].each { |order| @karafka.produce(order.to_json) }
    assert_raises(KeyError) { @consumer.consume }
    assert_equal [1, [0]], [shipments.size, @marked]
  end

  # It fails.
  def test_invalid_json_becomes_a_dead_letter
    @karafka.produce("{")
    assert_raises(JSON::ParserError) { @consumer.consume }
  end

  # By the test.
  def test_a_failure_that_passes_is_tried_again
    failures = [IOError.new("away")]
    Shop.singleton_class.prepend(Module.new { define_method(:ship) { |*given| (error = failures.pop) ? raise(error) : super(*given) } })
    @karafka.produce({"id" => 7, "paid" => true}.to_json)
    assert_raises(IOError) { @consumer.consume }
    @consumer.consume
    assert_equal 1, shipments.size
  end

  def test_code_that_is_no_consumer
    Shop.ship(7, "a")
    assert_equal(["a"], shipments.map { |message| message[:key] })
  end

  def test_tick
    @consumer.tick
    assert_equal(["ticks"], @karafka.produced_messages.map { |message| message[:topic] })
  end
  # end
end
