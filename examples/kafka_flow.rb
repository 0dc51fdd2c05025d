# frozen_string_literal: true

# Rejects duplicates and makes messages wait, before the consumer gets them. Needs no broker. Run it with:
# ruby examples/kafka_flow.rb (in a checkout: bin/rake example[kafka_flow])
require "guildhall/kafka"
require "guildhall/kafka/testing"

# Shows what arrives, and when.
class PaymentsConsumer < Guildhall::Kafka::Consumer
  SEEN = Thread::Queue.new

  def consume
    messages.each { |message| SEEN << [message.raw_payload, Time.now - message.timestamp] }
  end
end

Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
  broker.create_topic("payments")
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest"}
  end
  Guildhall::Kafka.routes do
    topic "payments" do
      consumer PaymentsConsumer
      deduplicate by: :key, window: 1_000
      delay 1
      throttle limit: 2, per: 0.5
    end
  end
  Guildhall::Kafka.start
  producer = Rdkafka::Config.new("bootstrap.servers": broker.bootstrap_servers).producer
  %w[p1 p2 p1 p3 p2].each_with_index.map { |key, i| producer.produce(topic: "payments", key:, payload: "payment #{i}") }.each(&:wait)
  producer.close
  seen = Array.new(3) { PaymentsConsumer::SEEN.pop(timeout: 30) || abort("no payment came") }
  Guildhall::Kafka.stop
  puts seen.map(&:first)
  puts "each a second old: #{seen.all? { |_, age| age >= 1 }}"
end
