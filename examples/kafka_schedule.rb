# frozen_string_literal: true

# A task that is due every second, and a block that each consumer runs from time to time. Needs no broker, but the gem fugit.
# Run it with: ruby examples/kafka_schedule.rb (in a checkout: bin/rake example[kafka_schedule])
require "guildhall/kafka"
require "guildhall/kafka/testing"

DONE = Thread::Queue.new

# Has no messages to consume.
class VisitsConsumer < Guildhall::Kafka::Consumer
  every(0.2) { DONE << "visits/#{partition} looked after" }

  def consume = nil
end

Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
  # A real broker gets the schedule's topic when the application starts; this one does not take requests for topics.
  %w[visits shop.schedule].each { |name| broker.create_topic(name, partitions: 1) }
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest"}
    config.group_id = "shop"
    config.logger = nil
  end
  Guildhall::Kafka.routes do
    topic("visits") { consumer VisitsConsumer }
    schedule do
      task("report", "* * * * * *") { |due| DONE << "report due in this minute: #{Time.now - due < 60}" }
    end
  end
  Guildhall::Kafka.start
  lines = []
  until lines.uniq.size == 2
    lines << (DONE.pop(timeout: 30) || abort("nothing was done"))
  end
  puts lines.uniq.sort
  Guildhall::Kafka.stop
end
