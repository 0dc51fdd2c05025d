# frozen_string_literal: true

# Reads topics without a consumer group: a route that assigns partitions, and a script that looks at the last messages. Needs no broker.
# Run it with: ruby examples/kafka_direct.rb (in a checkout: bin/rake example[kafka_direct])
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/json"

# Each process has all prices, and sends those that are new on as they are.
class PricesConsumer < Guildhall::Kafka::Consumer
  PRICES = {} # rubocop:disable Style/MutableConstant -- it is what the process knows
  DONE = Thread::Queue.new

  def consume
    messages.each { |message| PRICES[message.key] = message.payload["price"] }
    pipe_to "prices.archive"
    DONE << messages.size
  end
end

Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
  %w[prices prices.archive].each { |name| broker.create_topic(name, partitions: 1) }
  Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": broker.bootstrap_servers} }
  Guildhall::Kafka.routes do
    topic "prices" do
      consumer PricesConsumer
      deserializer Guildhall::JSON
      assign partitions: {0 => :all}
    end
  end
  prices = [["tea", 3], ["salt", 1], ["tea", 4]].map { |key, price| {topic: "prices", key:, payload: {"price" => price}} }
  Guildhall::Kafka.producer.produce_many_sync(prices)
  Guildhall::Kafka.start
  count = 0
  count += PricesConsumer::DONE.pop(timeout: 30) || abort("no prices came") until count == prices.size
  puts PricesConsumer::PRICES.map { |name, price| "#{name}: #{price}" }
  Guildhall::Kafka.each_message("prices.archive", from: -1, deserializer: Guildhall::JSON) do |message|
    puts "last in the archive: #{message.key}, #{message.payload["price"]}"
  end
  Guildhall::Kafka.stop
end
