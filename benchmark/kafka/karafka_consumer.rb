# frozen_string_literal: true

# A contender: karafka_consumer.rb SERVERS TOPIC COUNT MODE, with CONCURRENCY in the environment. One application of Karafka; MODE says
# what it does with a message, and who decodes it.
#
# By Karafka, when a payload is asked for: hash (JSON.parse), raw (not at all), schema, stages (checks and summary in the consumer),
# checks (in the deserializer), avro (the gem), latency, memory. By the plug-in: plugin.document, plugin.hash, plugin.checks,
# plugin.avro-document, plugin.avro-hash, plugin.avro-gem (the gem, on workers). What a mode does not use is not loaded.
ENV["KARAFKA_ENV"] = "production"
require "karafka"
require_relative "orders"
require_relative "settings"
require_relative "stopwatch"
require_relative "../data/order_task"

SERVERS, NAME, COUNT, MODE = ARGV
STOPWATCH = Stopwatch.new(Integer(COUNT))
if MODE.start_with?("plugin.")
  require "guildhall/karafka"
  Guildhall::Karafka.setup do |config|
    config.enabled = ENV["PLUGIN"] != "off" # off: nothing is subscribed to, and payloads are decoded where they are asked for
    config.parallel = {"true" => true, "false" => false}[ENV.fetch("PARALLEL", nil)]
  end
end

# Adds up what each message gives.
class Consumer < Karafka::BaseConsumer
  def consume
    STOPWATCH.start
    STOPWATCH.add(messages.size, sum)
  end

  private

  def sum = messages.sum { |message| Orders.read(message.payload) }
end

class RawConsumer < Consumer
  def sum = messages.sum(&:offset)
end

class SchemaConsumer < Consumer
  def sum
    require "jsonschema_rs"
    @validator ||= JSONSchema.validator_for(Orders::SCHEMA, validate_formats: true)
    messages.sum { |message| @validator.valid?(message.payload) ? Orders.read(message.payload) : raise("not valid") }
  end
end

class StagesConsumer < Consumer
  def sum
    messages.sum do |message|
      order = OrderTask.checked(message.payload)
      OrderTask.wanted?(order) ? OrderTask.summary(order).pieces : 0
    end
  end
end

# Its payloads are summaries.
class SummaryConsumer < Consumer
  def sum = messages.sum { |message| message.payload.pieces }
end

class LatencyConsumer < Consumer
  def consume
    messages.each { |message| STOPWATCH.sent_at(message.payload["sent"]) }
  end
end

# Reads its partition again and again.
class MemoryConsumer < Consumer
  def consume
    super
    STOPWATCH.sample
    seek(0) if messages.last.offset + 1 >= Integer(ENV.fetch("PARTITION_SIZE"))
  end
end

# As Karafka's users have them.
module Checks
  def self.call(message) = OrderTask.summary(OrderTask.checked(JSON.parse(message.raw_payload)))
end

class GemAvro
  def initialize
    require "avro"
    require_relative "avro_topics"
    @reader = Avro::IO::DatumReader.new(Avro::Schema.parse(JSON.generate(AvroTopics::SCHEMA)))
  end

  def call(message) = @reader.read(Avro::IO::BinaryDecoder.new(StringIO.new(message.raw_payload)))
end

# With the plug-in.
module Plugin
  CODECS = {
    "avro-gem" => -> { Guildhall::Task.per_worker(GemAvro) },
    "document" => -> { Guildhall::JSON.lazy }, "hash" => -> { Guildhall::JSON }, "avro-document" => -> { avro.lazy }, "avro-hash" => -> { avro },
    "checks" => lambda do
      Guildhall::JSON.lazy >> Guildhall.validate { |order| OrderTask.errors(order) } >> Guildhall.map { |order| OrderTask.summary(order) }
    end
  }.freeze

  def self.deserializer(name) = Guildhall::Karafka.parallel(CODECS.fetch(name).call, message: name == "avro-gem")

  def self.avro
    require_relative "avro_topics"
    Guildhall::Avro.new(AvroTopics::SCHEMA)
  end
end

CONSUMERS = {"raw" => RawConsumer, "schema" => SchemaConsumer, "stages" => StagesConsumer, "latency" => LatencyConsumer, "memory" => MemoryConsumer,
             "checks" => SummaryConsumer, "plugin.checks" => SummaryConsumer}.freeze

def deserializer_of(mode)
  case mode
  when "checks" then Checks
  when "avro" then GemAvro.new
  when /\Aplugin\./ then Plugin.deserializer(Regexp.last_match.post_match)
  end
end

class App < Karafka::App
  setup do |config|
    config.kafka = SETTINGS.merge("bootstrap.servers": SERVERS)
    config.client_id = "bench"
    config.group_id = "bench-karafka-#{Process.pid}"
    config.concurrency = Integer(ENV.fetch("CONCURRENCY", "5"))
    config.max_messages = 500
    config.max_wait_time = 1_000
    config.logger = Logger.new(File::NULL)
  end
  routes.draw do
    topic(NAME) do
      consumer CONSUMERS.fetch(MODE, Consumer)
      own = deserializer_of(MODE)
      deserializer(own) if own
    end
  end
end

Karafka.monitor.subscribe("error.occurred") { |event| warn(event[:error].full_message) }
Thread.new { Karafka::Server.run }
STOPWATCH.report
warn(Guildhall::Karafka.stats, Guildhall.pool.report) if ENV["REPORT"] && defined?(Guildhall::Karafka)
exit!(0)
