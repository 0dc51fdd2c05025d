# frozen_string_literal: true

# An application of the gem karafka whose payloads are decoded in worker Ractors: ruby examples/karafka/karafka.rb. It
# needs the gems karafka and guildhall-kafka, and takes a broker of its own unless KAFKA_BOOTSTRAP_SERVERS names one.
ENV["KARAFKA_ENV"] ||= "development"
require "karafka"
require "guildhall/karafka"
require "guildhall/kafka/testing"

ORDERS = 1_000
TOPIC = "orders-#{Process.pid}".freeze
DONE = Thread::Queue.new

broker = Guildhall::Kafka::Testing::EmbeddedBroker.start if ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "").empty?
broker&.create_topic(TOPIC, partitions: 1)
SERVERS = broker ? broker.bootstrap_servers : ENV.fetch("KAFKA_BOOTSTRAP_SERVERS")

# What the application does not want to see again and again: decoded and checked before the consumer gets it. In a module, because
# on Ruby 3.4 a block keeps its self.
module Orders
  PAID_CENTS = Guildhall::JSON.lazy >>
               Guildhall.validate { |order| order["total"].is_a?(Integer) ? [] : ["no total"] } >>
               Guildhall.map { |order| {id: order["id"], cents: order["paid"] ? order["total"] : 0} }
end

# Nothing of it knows of the plug-in.
class OrdersConsumer < Karafka::BaseConsumer
  def consume
    messages.payloads.each { |order| DONE << order[:cents] }
  end
end

# The application.
class KarafkaApp < Karafka::App
  setup do |config|
    config.kafka = {"bootstrap.servers": SERVERS, "auto.offset.reset": "earliest"}
    config.client_id = "example"
    config.group_id = "example-#{Process.pid}"
    config.logger = Logger.new(File::NULL)
  end

  routes.draw do
    topic TOPIC do
      consumer OrdersConsumer
      deserializer Guildhall::Karafka.parallel(Orders::PAID_CENTS)
    end
  end
end

Karafka.monitor.subscribe("error.occurred") { |event| warn(event[:error].message) }
payloads = Array.new(ORDERS) { |id| %({"id":#{id},"total":#{id},"paid":#{id.even?}}) }
Karafka.producer.produce_many_sync(payloads.map { |payload| {topic: TOPIC, payload:} })

Karafka::Embedded.start
paid = Array.new(ORDERS) { DONE.pop(timeout: 30) || abort("nothing came within 30 s") }
Karafka::Embedded.stop
puts "paid: #{paid.sum} cents in #{paid.size} orders"
puts "decoded by workers: #{Guildhall.pool.stats[:by_workers].positive?}"
