# frozen_string_literal: true

# A contender: guildhall_consumer.rb SERVERS TOPIC COUNT MODE. MODE: document, hash, raw.
require "guildhall/kafka"
require "guildhall/json"
require_relative "orders"
require_relative "settings"
require_relative "stopwatch"

servers, name, count, mode = ARGV
STOPWATCH = Stopwatch.new(Integer(count))

class FieldsConsumer < Guildhall::Kafka::Consumer
  def consume
    STOPWATCH.start
    sum = 0
    messages.each { |message| sum += Orders.read(message.payload) }
    STOPWATCH.add(messages.size, sum)
  end
end

class RawConsumer < Guildhall::Kafka::Consumer
  def consume
    STOPWATCH.start
    sum = 0
    messages.each { |message| sum += message.offset }
    STOPWATCH.add(messages.size, sum)
  end
end

Guildhall::Kafka.configure do |config|
  config.kafka = SETTINGS.merge("bootstrap.servers": servers, "queued.max.messages.kbytes": 10_000)
  config.group_id = "bench-guildhall-#{Process.pid}"
end
Guildhall::Kafka.routes do
  topic(name) do
    consumer mode == "raw" ? RawConsumer : FieldsConsumer
    deserializer Guildhall::JSON.lazy if mode == "document"
    deserializer Guildhall::JSON if mode.start_with?("hash")
    deserializing parallel: false if mode == "hash-inline"
    deserializing parallel: true if mode == "hash-pool"
  end
end
Guildhall::Kafka.start
STOPWATCH.report
exit!(0)
