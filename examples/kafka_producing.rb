# frozen_string_literal: true

# Reads orders and produces invoices, as objects: the routes say how they become bytes. Needs no broker.
# Run it with:
# ruby examples/kafka_producing.rb (in a checkout: bin/rake example[kafka_producing])
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/json"
require "guildhall/msgpack"

# An invoice for each order.
class OrdersConsumer < Guildhall::Kafka::Consumer
  def consume
    invoices = messages.map do |message|
      {topic: "invoices", key: message.key, payload: {"order" => message.payload["id"], "total" => message.payload["price"] * 2}}
    end
    producer.produce_many_sync(invoices)
  end
end

# Shows them.
class InvoicesConsumer < Guildhall::Kafka::Consumer
  SEEN = Thread::Queue.new

  def consume
    messages.each { |message| SEEN << message }
  end
end

Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
  %w[orders invoices].each { |name| broker.create_topic(name) }
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest"}
    config.producer = {"linger.ms": 5}
  end
  Guildhall::Kafka.routes do
    topic "orders" do
      consumer OrdersConsumer
      deserializer Guildhall::JSON.lazy # what decodes also encodes
    end
    topic "invoices" do
      consumer InvoicesConsumer
      deserializer Guildhall::MessagePack
    end
  end

  Guildhall::Kafka.producer.produce_sync(topic: "orders", key: "o1", payload: {"id" => 1, "price" => 21})
  Guildhall::Kafka.producer.produce_sync(topic: "orders", key: "o2", payload: %({"id": 2, "price": 50})) # bytes stay as they are
  Guildhall::Kafka.start
  2.times do
    invoice = InvoicesConsumer::SEEN.pop(timeout: 30) || abort("no invoice came")
    puts "#{invoice.key}: #{invoice.payload["total"]} in #{invoice.raw_payload.bytesize} bytes"
  end
  Guildhall::Kafka.stop
end
