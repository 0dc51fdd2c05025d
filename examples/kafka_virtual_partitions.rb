# frozen_string_literal: true

# One partition worked on by four threads, in order for each customer. Needs no broker. Run it with:
# ruby examples/kafka_virtual_partitions.rb (in a checkout: bin/rake example[kafka_virtual_partitions])
require "guildhall/kafka"
require "guildhall/kafka/testing"

# Waits for something for each order, as for a database.
class OrdersConsumer < Guildhall::Kafka::Consumer
  DONE = Thread::Queue.new

  def consume
    messages.each do |message|
      sleep(0.005)
      DONE << [message.key, message.payload.to_i, Thread.current.name]
    end
  end
end

Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
  broker.create_topic("orders", partitions: 1)
  producer = Rdkafka::Config.new("bootstrap.servers": broker.bootstrap_servers).producer
  Array.new(200) { |id| producer.produce(topic: "orders", key: "customer #{id % 20}", payload: id.to_s) }.each(&:wait)
  producer.close

  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest"}
    config.concurrency = 4
  end
  Guildhall::Kafka.routes do
    topic "orders" do
      consumer OrdersConsumer
      virtual_partitions partitioner: lambda(&:key), max: 4
    end
  end
  Guildhall::Kafka.start
  done = Array.new(200) { OrdersConsumer::DONE.pop(timeout: 30) or abort("not all were handled") }
  Guildhall::Kafka.stop
  ordered = done.group_by(&:first).values.all? { |orders| orders.map { |order| order[1] } == orders.map { |order| order[1] }.sort }
  puts "threads: #{done.map(&:last).uniq.size > 1 ? "several" : "one"}, each customer's orders in order: #{ordered}"
end
