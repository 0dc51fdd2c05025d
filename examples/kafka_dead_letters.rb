# frozen_string_literal: true

# Messages that fail every retry, and undecodable ones, go to the dead letter topic. Needs no broker. Run it with:
# ruby examples/kafka_dead_letters.rb (in a checkout: bin/rake example[kafka_dead_letters])
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/json"

# Cannot handle order 3.
class OrdersConsumer < Guildhall::Kafka::Consumer
  def consume
    messages.each do |message|
      raise "no such article" if message.payload["id"] == 3

      mark_as_consumed(message)
    end
  end
end

# Looks at what could not be handled.
class LettersConsumer < Guildhall::Kafka::Consumer
  LETTERS = Thread::Queue.new

  def consume
    messages.each { |message| LETTERS << [message.raw_payload, message.headers] }
  end
end

Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
  %w[orders orders.dead].each { |name| broker.create_topic(name, partitions: 1) }
  producer = Rdkafka::Config.new("bootstrap.servers": broker.bootstrap_servers).producer
  [%({"id": 1}), "no JSON", %({"id": 3}), %({"id": 4})].each { |payload| producer.produce(topic: "orders", payload:).wait }
  producer.close

  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest"}
    config.pause_timeout = 0.1
  end
  Guildhall::Kafka.routes do
    topic "orders" do
      consumer OrdersConsumer
      deserializer Guildhall::JSON.lazy
      dead_letter_queue topic: "orders.dead", max_retries: 2, dispatch_undecodable: true
    end
    topic("orders.dead") { consumer LettersConsumer }
  end
  Guildhall::Kafka.start
  2.times do
    payload, headers = LettersConsumer::LETTERS.pop(timeout: 30) || abort("no dead letter came")
    puts "#{payload} from offset #{headers["source_offset"]} after #{headers["source_attempts"]} attempts: #{headers["source_error_class"]}"
  end
  Guildhall::Kafka.stop
end
