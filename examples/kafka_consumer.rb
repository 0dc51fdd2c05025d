# frozen_string_literal: true

# The smallest consumer, on a broker inside this process. Run it with:
# ruby examples/kafka_consumer.rb (in a checkout: bin/rake example[kafka_consumer])
require "guildhall/kafka"
require "guildhall/kafka/testing"

# Prints what was ordered.
class OrdersConsumer < Guildhall::Kafka::Consumer
  def consume
    messages.each { |message| puts "#{message.key}: #{message.payload["total"]}" }
    Process.kill(:TERM, Process.pid) if messages.last.key == "last"
  end
end

Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
  broker.create_topic("orders")
  Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest"} }
  Guildhall::Kafka.routes { topic("orders") { consumer(OrdersConsumer) && deserializer(Guildhall::JSON.lazy) } }
  %w[first last].each { |key| Guildhall::Kafka.producer.produce_sync(topic: "orders", key:, payload: {"total" => key.size}) }
  Guildhall::Kafka.run
end
