# frozen_string_literal: true

# Reads orders and produces invoices, each exactly once: an invoice and the mark of its order are committed together. Needs no broker.
# Run it with:
# ruby examples/kafka_transactions.rb (in a checkout: bin/rake example[kafka_transactions])
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/json"

# An invoice for each order.
class OrdersConsumer < Guildhall::Kafka::Consumer
  def consume
    transaction do
      messages.each do |message|
        invoice = {"order" => message.payload["id"], "total" => message.payload["price"] * 2}
        produce_async(topic: "invoices", key: message.key, payload: invoice)
      end
      mark_as_consumed(messages.to_a.last)
    end
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
      deserializer Guildhall::JSON.lazy
      transactional
    end
    topic "invoices" do
      consumer InvoicesConsumer
      deserializer Guildhall::JSON
    end
  end
  committed = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("transaction.committed") { |event| committed << event.payload[:topic] }

  Guildhall::Kafka.producer.produce_sync(topic: "orders", key: "o1", payload: {"id" => 1, "price" => 21})
  Guildhall::Kafka.start
  invoice = InvoicesConsumer::SEEN.pop(timeout: 30) || abort("no invoice came")
  puts "#{invoice.key}: #{invoice.payload["total"]}, committed with the offset of #{committed.pop(timeout: 30)}"
  Guildhall::Kafka.stop
end
