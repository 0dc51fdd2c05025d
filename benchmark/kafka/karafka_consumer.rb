# frozen_string_literal: true

# A contender: karafka_consumer.rb SERVERS TOPIC COUNT MODE. MODE: hash (JSON.parse when asked for), raw, schema, stages,
# latency, memory.
ENV["KARAFKA_ENV"] = "production"
require "karafka"
require "jsonschema_rs"
require_relative "orders"
require_relative "settings"
require_relative "stopwatch"
require_relative "../data/order_task"

SERVERS, NAME, COUNT, MODE = ARGV
STOPWATCH = Stopwatch.new(Integer(COUNT))

class FieldsConsumer < Karafka::BaseConsumer
  def consume
    STOPWATCH.start
    sum = 0
    messages.each { |message| sum += Orders.read(message.payload) }
    STOPWATCH.add(messages.size, sum)
  end
end

class SchemaConsumer < Karafka::BaseConsumer
  VALIDATOR = JSONSchema.validator_for(Orders::SCHEMA, validate_formats: true)

  def consume
    STOPWATCH.start
    sum = 0
    messages.each do |message|
      raise "not valid" unless VALIDATOR.valid?(message.payload)

      sum += Orders.read(message.payload)
    end
    STOPWATCH.add(messages.size, sum)
  end
end

class StagesConsumer < Karafka::BaseConsumer
  def consume
    STOPWATCH.start
    sum = messages.sum { |message| pieces(message.payload) }
    STOPWATCH.add(messages.size, sum)
  end

  private

  def pieces(order)
    faults = OrderTask.faults(order)
    raise ArgumentError, faults.join("; ") if faults.any?

    OrderTask.wanted?(order) ? OrderTask.summary(order).pieces : 0
  end
end

class RawConsumer < Karafka::BaseConsumer
  def consume
    STOPWATCH.start
    sum = 0
    messages.each { |message| sum += message.offset }
    STOPWATCH.add(messages.size, sum)
  end
end

class LatencyConsumer < Karafka::BaseConsumer
  def consume
    messages.each { |message| STOPWATCH.sent_at(message.payload["sent"]) }
  end
end

# Reads its partition again and again.
class MemoryConsumer < FieldsConsumer
  def consume
    super
    STOPWATCH.sample
    seek(0) if messages.last.offset + 1 >= Integer(ENV.fetch("PARTITION_SIZE"))
  end
end

CONSUMERS = {"raw" => RawConsumer, "schema" => SchemaConsumer, "stages" => StagesConsumer, "latency" => LatencyConsumer,
             "memory" => MemoryConsumer}.freeze

class App < Karafka::App
  setup do |config|
    config.kafka = SETTINGS.merge("bootstrap.servers": SERVERS)
    config.client_id = "bench"
    config.group_id = "bench-karafka-#{Process.pid}"
    config.concurrency = 5
    config.max_messages = 500
    config.max_wait_time = 1_000
    config.logger = Logger.new(File::NULL)
  end
  routes.draw { topic(NAME) { consumer CONSUMERS.fetch(MODE, FieldsConsumer) } }
end

Karafka.monitor.subscribe("error.occurred") { |event| warn(event[:error].full_message) }
Thread.new { Karafka::Server.run }
STOPWATCH.report
exit!(0)
