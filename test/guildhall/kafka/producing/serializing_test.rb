# frozen_string_literal: true

require "test_helper"
require "support/registry_server"
require "guildhall/json/confluent"
require "guildhall/kafka"
require "guildhall/kafka/producing/serializing"

# Without a broker.
class KafkaSerializingTest < GuildhallTest
  GUID = "0f0d1f2a-3b4c-5d6e-7f80-91a2b3c4d5e6"
  Route = Struct.new(:encoder) do
    def match?(topic) = topic == "orders"
  end

  def test_a_schema_that_is_named_in_a_header
    server = RegistryServer.new("/subjects/orders-value/versions/latest" => [200, {id: 7, schemaType: "JSON", schema: "{}", guid: GUID}])
    server.add(7, "{}", schemaType: "JSON", guid: GUID)
    registry = Guildhall::SchemaRegistry.new(server.url, retries: 0)
    header = {"__value_schema_id" => "\1".b + [GUID.delete("-")].pack("H*")}
    codec = Guildhall::JSON::Confluent.new(registry, topic: "orders", schema_id: :headers)
    [codec, codec.lazy].each do |encoder|
      serializing = Guildhall::Kafka::Producing::Serializing.new(-> { [Route.new(encoder)] })
      assert_equal({topic: "orders", payload: "{\"a\":1}", headers: header}, serializing.call({topic: "orders", payload: {"a" => 1}}))
      given = {"trace" => "t"}.freeze
      assert_equal given.merge(header), serializing.call({topic: "orders", payload: {}, headers: given})[:headers]
    end
    in_payload = Guildhall::Kafka::Producing::Serializing.new(-> { [Route.new(Guildhall::JSON::Confluent.new(registry, topic: "orders"))] })
    assert_equal({topic: "orders", payload: "\0\0\0\0\7{}".b}, in_payload.call({topic: "orders", payload: {}}))
  ensure
    server&.close
  end

  def test_bytes_and_tombstones_are_left_as_they_are
    serializing = Guildhall::Kafka::Producing::Serializing.new(-> { [Route.new(Guildhall::JSON)] })
    [{topic: "orders", payload: "x"}, {topic: "orders", payload: nil}].each { |message| assert_same message, serializing.call(message) }
    assert_equal "[1]", serializing.call({topic: "orders", payload: [1]})[:payload]
    assert_match(/topic other: no serializer for a Array/, assert_raises(Guildhall::EncodeError) { serializing.call({topic: "other", payload: [1]}) }.message)
  end

  def test_routes_that_are_drawn_later_count
    routes = []
    serializing = Guildhall::Kafka::Producing::Serializing.new(-> { routes })
    assert_raises(Guildhall::EncodeError) { serializing.call({topic: "orders", payload: [1]}) }
    routes = [Route.new(Guildhall::JSON)]
    assert_equal "[1]", serializing.call({topic: :orders, payload: [1]})[:payload]
    routes = [Route.new(->(payload) { payload.inspect })]
    assert_equal "[1, 2]", serializing.call({topic: "orders", payload: [1, 2]})[:payload]
    assert_equal({topic: nil, payload: [1]}, serializing.call({topic: nil, payload: [1]})) # the producer says what is wrong with it
  end
end
