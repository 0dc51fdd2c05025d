# frozen_string_literal: true

# A contender: karafka_plugin_consumer.rb SERVERS TOPIC COUNT MODE, with CONCURRENCY in the environment. One and the same
# application; MODE says how its payloads are decoded. By Karafka, where they are asked for: default (JSON.parse), stages (JSON.parse,
# then checks in Ruby), avro (the gem). By the plug-in: document, hash, stages-plugin, avro-document, avro-hash; with PLUGIN=off it
# does not subscribe to anything.
ENV["KARAFKA_ENV"] = "production"
require "karafka"
require "avro"
require "guildhall/karafka"
require_relative "avro_topics"
require_relative "orders"
require_relative "settings"
require_relative "stopwatch"
require_relative "../data/order_task"

SERVERS, NAME, COUNT, MODE = ARGV
STOPWATCH = Stopwatch.new(Integer(COUNT))

class FieldsConsumer < Karafka::BaseConsumer
  def consume
    STOPWATCH.start
    sum = messages.sum { |message| Orders.read(message.payload) }
    STOPWATCH.add(messages.size, sum)
  end
end

class StagesConsumer < Karafka::BaseConsumer
  def consume
    STOPWATCH.start
    sum = messages.sum { |message| message.payload.pieces }
    STOPWATCH.add(messages.size, sum)
  end
end

# What happens to each order before the consumer sees it.
module Stages
  CHECK = Guildhall.validate { |order| OrderTask.faults(order) }
  SUMMARY = Guildhall.map { |order| OrderTask.summary(order) }
  ALL = Guildhall::JSON.lazy >> CHECK >> SUMMARY

  # The same for Karafka.
  def self.call(message)
    order = JSON.parse(message.raw_payload)
    faults = OrderTask.faults(order)
    raise ArgumentError, faults.join("; ") if faults.any?

    OrderTask.summary(order)
  end
end

# As Karafka's users have it.
class GemAvro
  def initialize
    @reader = Avro::IO::DatumReader.new(Avro::Schema.parse(JSON.generate(AvroTopics::SCHEMA)))
  end

  def call(message)
    @reader.read(Avro::IO::BinaryDecoder.new(StringIO.new(message.raw_payload)))
  end
end

Guildhall::Karafka.setup do |config|
  config.enabled = ENV["PLUGIN"] != "off"
  config.parallel = {"true" => true, "false" => false}[ENV.fetch("PARALLEL", nil)]
end

DESERIALIZERS = {
  "default" => -> { Karafka::Deserializers::Payload.new }, "stages" => -> { Stages }, "avro" => -> { GemAvro.new },
  "document" => -> { Guildhall::Karafka.parallel(Guildhall::JSON.lazy) }, "hash" => -> { Guildhall::Karafka.parallel(Guildhall::JSON) },
  "stages-plugin" => -> { Guildhall::Karafka.parallel(Stages::ALL) },
  "avro-document" => -> { Guildhall::Karafka.parallel(Guildhall::Avro.new(AvroTopics::SCHEMA).lazy) },
  "avro-hash" => -> { Guildhall::Karafka.parallel(Guildhall::Avro.new(AvroTopics::SCHEMA)) }
}.freeze

class App < Karafka::App
  setup do |config|
    config.kafka = SETTINGS.merge("bootstrap.servers": SERVERS)
    config.client_id = "bench"
    config.group_id = "bench-karafka-plugin-#{Process.pid}"
    config.concurrency = Integer(ENV.fetch("CONCURRENCY", "5"))
    config.max_messages = 500
    config.max_wait_time = 1_000
    config.logger = Logger.new(File::NULL)
  end
  routes.draw do
    topic(NAME) do
      consumer MODE.start_with?("stages") ? StagesConsumer : FieldsConsumer
      deserializer DESERIALIZERS.fetch(MODE).call
    end
  end
end

Karafka.monitor.subscribe("error.occurred") { |event| warn(event[:error].full_message) }
Thread.new { Karafka::Server.run }
STOPWATCH.report
warn(Guildhall::Karafka.stats, Guildhall.pool.report) if ENV["REPORT"]
exit!(0)
