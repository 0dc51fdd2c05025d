# frozen_string_literal: true

# A whole application on a broker inside this process: payloads are decoded by the reader, checked and filtered by a
# pipeline, retried, and dead-lettered if retries do not help. Run it with:
# ruby examples/kafka.rb (in a checkout: bin/rake example[kafka])
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/json"

# What happens to each payload before a consumer sees it.
module Stages
  PAID = Guildhall.select { |order| order["paid"] }
  ALL = Guildhall::JSON.lazy >> PAID
end

# Adds up what was paid; refuses order 13 as long as it can.
class OrdersConsumer < Guildhall::Kafka::Consumer
  TOTAL = Thread::Queue.new

  def consume
    messages.each_decoded do |message, order|
      raise "thirteen brings bad luck" if order["id"] == 13

      TOTAL << order["amount"]
      mark_as_consumed(message)
    end
  end
end

Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
  broker.create_topic("orders", partitions: 3)
  producer = Rdkafka::Config.new("bootstrap.servers": broker.bootstrap_servers).producer
  Array.new(30) { |id| producer.produce(topic: "orders", key: id.to_s, payload: %({"id": #{id}, "paid": #{id.odd?}, "amount": 10})) }
    .each(&:wait)
  producer.close

  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest"}
    config.pause_timeout = 0.1
  end
  Guildhall::Kafka.routes do
    topic "orders" do
      consumer OrdersConsumer
      deserializer Stages::ALL
      dead_letter_queue topic: false, max_retries: 2
    end
  end
  Guildhall::Kafka.instrumentation.subscribe("error.occurred") { |event| puts "#{event.payload[:error].message}, attempt #{event.payload[:attempt]}" }
  Guildhall::Kafka.start
  total = Array.new(14) { OrdersConsumer::TOTAL.pop(timeout: 30) }.sum
  Guildhall::Kafka.stop
  puts "paid: #{total}"
end
