# frozen_string_literal: true

# Produces a message that is consumed a second later, fails once on it, and consumes it again from a retry topic. Needs no
# broker. Run it with:
# ruby examples/kafka_later.rb (in a checkout: bin/rake example[kafka_later])
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/json"

# Fails on what comes for the first time.
class RemindersConsumer < Guildhall::Kafka::Consumer
  SEEN = Thread::Queue.new

  def consume
    messages.each do |message|
      raise "no mail server" if topic_name == "reminders"

      SEEN << message
      mark_as_consumed(message)
    end
  end
end

Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
  # A real broker gets the retry topics and the delay topics when the application starts; this one does not take requests for topics.
  %w[reminders reminders.retry.1 shop.later.0.5 shop.later.dead].each { |name| broker.create_topic(name) }
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest"}
  end
  Guildhall::Kafka.routes do
    delay_topics 0.5, prefix: "shop.later"
    topic "reminders" do
      consumer RemindersConsumer
      deserializer Guildhall::JSON
      retry_topics 1, prefix: "reminders.retry"
      dead_letter_queue topic: "reminders.dead"
    end
  end
  Guildhall::Kafka.config.logger = nil
  Guildhall::Kafka.start
  due = Time.now + 1
  Guildhall::Kafka.producer.produce_later(at: due, topic: "reminders", key: "o1", payload: {"order" => 1})
  message = RemindersConsumer::SEEN.pop(timeout: 30) || abort("no reminder came")
  puts "order #{message.payload["order"]} after #{message.headers["source_attempts"]} attempt: #{message.headers["source_error_class"]}"
  puts "not before its time, and the retry's second: #{Time.now >= due + 1}"
  Guildhall::Kafka.stop
end
