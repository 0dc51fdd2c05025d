# frozen_string_literal: true

# A contender: karafka_consumer.rb SERVERS TOPIC COUNT MODE. MODE: hash (JSON.parse when asked for), raw.
ENV["KARAFKA_ENV"] = "production"
require "karafka"
require_relative "orders"
require_relative "settings"
require_relative "stopwatch"

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

class RawConsumer < Karafka::BaseConsumer
  def consume
    STOPWATCH.start
    sum = 0
    messages.each { |message| sum += message.offset }
    STOPWATCH.add(messages.size, sum)
  end
end

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
  routes.draw { topic(NAME) { consumer MODE == "raw" ? RawConsumer : FieldsConsumer } }
end

Thread.new { Karafka::Server.run }
STOPWATCH.report
exit!(0)
