# frozen_string_literal: true

# One customer's order fails for a while: his later orders wait for it, all others are handled. Needs no broker. Run it with:
# ruby examples/kafka_ordering.rb (in a checkout: bin/rake example[kafka_ordering])
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "logger"

# Order 3 is of customer 3, whose address is missing until somebody adds it.
class OrdersConsumer < Guildhall::Kafka::Consumer
  DONE = Thread::Queue.new
  ADDRESSES = Thread::Queue.new

  def consume
    messages.each_marking do |message|
      raise "no address of #{message.key}" if message.payload == "3" && ADDRESSES.empty?

      DONE << [message.key, message.payload.to_i]
    end
  end
end

def take(count) = Array.new(count) { OrdersConsumer::DONE.pop(timeout: 30) or abort("not all were handled") }

Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
  broker.create_topic("orders", partitions: 1)
  producer = Rdkafka::Config.new("bootstrap.servers": broker.bootstrap_servers).producer
  Array.new(200) { |id| producer.produce(topic: "orders", key: "customer #{id % 20}", payload: id.to_s) }.each(&:wait)
  producer.close

  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest"}
    config.concurrency = 4
    config.pause_timeout = 0.1
    config.logger = Logger.new(nil)
  end
  Guildhall::Kafka.routes do
    topic "orders" do
      consumer OrdersConsumer
      ordering :key
    end
  end
  Guildhall::Kafka.start
  others = take(190)
  puts "waits: #{(0...20).map { |id| "customer #{id}" } - others.map(&:first)}, done: #{others.size} orders"
  OrdersConsumer::ADDRESSES << "Main Street 3"
  late = take(10)
  Guildhall::Kafka.stop
  puts "then #{late.map(&:last).join(", ")}"
end
