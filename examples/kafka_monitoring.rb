# frozen_string_literal: true

# How far an application is behind, and librdkafka's statistics. Needs no broker. Run it with:
# ruby examples/kafka_monitoring.rb (in a checkout: bin/rake example[kafka_monitoring])
require "guildhall/kafka"
require "guildhall/kafka/testing"

# Takes its time.
class SlowConsumer < Guildhall::Kafka::Consumer
  def consume
    messages.each do |message|
      sleep(0.13)
      mark_as_consumed(message)
    end
  end
end

Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
  broker.create_topic("orders", partitions: 1)
  producer = Rdkafka::Config.new("bootstrap.servers": broker.bootstrap_servers).producer
  Array.new(50) { |id| producer.produce(topic: "orders", payload: id.to_s) }.each(&:wait)
  producer.close

  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest", "statistics.interval.ms": 200}
  end
  Guildhall::Kafka.routes { topic("orders") { consumer SlowConsumer } }

  done = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("lag.measured") do |event|
    event.payload[:partitions].each do |lag|
      puts format("%s/%d: %d messages, %.1f s behind", *lag.values_at(:topic, :partition, :messages, :seconds))
      done << true if lag[:messages].zero?
    end
  end
  Guildhall::Kafka.instrumentation.subscribe("statistics.emitted") do |event|
    puts "librdkafka has received #{event.payload[:statistics]["rxmsgs"]} messages"
  end
  Guildhall::Kafka.start
  done.pop(timeout: 30) or abort("still behind")
  Guildhall::Kafka.stop
  puts "caught up"
end
