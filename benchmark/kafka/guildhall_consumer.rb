# frozen_string_literal: true

# A contender: guildhall_consumer.rb SERVERS TOPIC COUNT MODE, with CONCURRENCY, WORKERS, MEMBERS, PARALLEL (true or false: where
# payloads are decoded), FREEZE (the broker's process, which stands still once all is read ahead), ADAPTERS (metrics, or all),
# REPORTS (true) and GARBAGE_COLLECTION in the environment. MODE: document, columns, rows, hash, survey, raw, schema, stages, checks, cpu,
# io, virtual, latency, memory, members.
require "guildhall/kafka"
require "guildhall/json"
require "guildhall/schema"
require_relative "orders"
require_relative "settings"
require_relative "stopwatch"
require_relative "work"
require_relative "../data/order_task"

servers, name, count, mode = ARGV
STOPWATCH = Stopwatch.new(Integer(count))

# What happens to each order before the consumer sees it.
module Stages
  CHECK = Guildhall.validate { |order| OrderTask.errors(order) }
  WANTED = Guildhall.select { |order| OrderTask.wanted?(order) }
  SUMMARY = Guildhall.map { |order| OrderTask.summary(order) }
  ALL = Guildhall::JSON.lazy >> CHECK >> WANTED >> SUMMARY
  EAGER = Guildhall::JSON >> CHECK >> WANTED >> SUMMARY
  VALID = Guildhall::JSON.lazy >> Guildhall::Schema.new(Orders::SCHEMA).validator
end

# Reads five fields of each, whatever was done before.
class FieldsConsumer < Guildhall::Kafka::Consumer
  def consume
    STOPWATCH.start
    sum = 0
    messages.each { |message| sum += Orders.read(message.payload) }
    STOPWATCH.add(messages.size, sum)
  end
end

# The same five fields, as columns: nothing else of a payload becomes an object.
class ColumnsConsumer < Guildhall::Kafka::Consumer
  PATHS = Guildhall::Columns.new("id", "status", "total", "customer.email", ["items", 0, "quantity"])

  def consume
    STOPWATCH.start
    sum = 0
    messages.pluck(PATHS).each do |id, status, total, email, quantity|
      sum += id + status.bytesize + (total * 100).round + email.bytesize + quantity
    end
    STOPWATCH.add(messages.size, sum)
  end
end

# And as `upsert_all` takes them.
class RowsConsumer < Guildhall::Kafka::Consumer
  PATHS = Guildhall::Columns.new(id: "id", status: "status", total: "total", email: "customer.email", quantity: ["items", 0, "quantity"])

  def consume
    STOPWATCH.start
    sum = messages.rows(PATHS).sum do |row|
      row[:id] + row[:status].bytesize + (row[:total] * 100).round + row[:email].bytesize + row[:quantity]
    end
    STOPWATCH.add(messages.size, sum)
  end
end

# Asks each payload for one number.
class SumConsumer < Guildhall::Kafka::Consumer
  def consume
    STOPWATCH.start
    sum = messages.sum { |message| message.payload.public_send(self.class::NUMBER) }
    STOPWATCH.add(messages.read, sum)
  end
end

# Looks at each document, whatever is in it.
class SurveyConsumer < SumConsumer
  NUMBER = :size
end

class StagesConsumer < SumConsumer
  NUMBER = :pieces
end

class RawConsumer < Guildhall::Kafka::Consumer
  def consume
    STOPWATCH.start
    sum = 0
    messages.each { |message| sum += message.offset }
    STOPWATCH.add(messages.size, sum)
  end
end

class WorkConsumer < Guildhall::Kafka::Consumer
  WORK = Work.new(ARGV[3])

  def consume
    STOPWATCH.start
    messages.each { |message| WORK.call(message.raw_payload) }
    STOPWATCH.add(messages.size, 0)
  end
end

class LatencyConsumer < Guildhall::Kafka::Consumer
  def consume
    messages.each { |message| STOPWATCH.sent_at(message.payload["sent"]) }
  end
end

# Reads its partition again and again.
class MemoryConsumer < FieldsConsumer
  def consume
    super
    STOPWATCH.sample
    seek(:earliest) if messages.last.offset + 1 >= Integer(ENV.fetch("PARTITION_SIZE"))
  end
end

# Nothing is consumed before each member has its share, and has read ahead as far as it may: the rebalances of the beginning are not to be
# measured.
module Balanced
  SECONDS = 2 # for reading ahead

  def self.call(messages)
    @since ||= STOPWATCH.now if balanced?
    messages.postpone(messages.first, 0.05) unless @since && STOPWATCH.now - @since > SECONDS
  end

  def self.balanced?
    shares = Guildhall::Kafka.application.listeners.map { |listener| listener.partitions.size }
    shares.uniq.size == 1 && shares.first.positive?
  end
end

# Nothing is consumed before all of it is in librdkafka's queues; then the broker stands still.
module ReadAhead
  class << self
    def call(messages)
      messages.postpone(messages.first, 0.02) unless @complete
    end

    def watch(statistics)
      partitions = statistics["topics"].values.flat_map { |topic| topic["partitions"].values }
      fetched = partitions.sum { |partition| [partition["next_offset"], partition["hi_offset"]].min.clamp(0..) }
      return if @complete || fetched < Integer(ARGV[2])

      Process.kill(:STOP, Integer(ENV.fetch("FREEZE")))
      @complete = true
    end
  end
end

Guildhall.pool = Guildhall::Pool.new(workers: Integer(ENV["WORKERS"])) if ENV["WORKERS"]
Guildhall::Kafka.configure do |config|
  config.kafka = SETTINGS.merge("bootstrap.servers": servers, "queued.max.messages.kbytes": 10_000)
  config.group_id = "bench-guildhall-#{Process.pid}"
  if ENV["FREEZE"]
    config.kafka.merge!("statistics.interval.ms": 200, "queued.max.messages.kbytes": 2_000_000, "queued.min.messages": 10_000_000)
    Guildhall::Kafka.instrumentation.subscribe("statistics.emitted") { |event| ReadAhead.watch(event.payload[:statistics]) }
  end
  config.concurrency = Integer(ENV.fetch("CONCURRENCY", "5"))
  config.reports = ENV["REPORTS"] == "true"
  config.garbage_collection = ENV.fetch("GARBAGE_COLLECTION", "ruby").to_sym
  if ENV["ADAPTERS"]
    require_relative "adapters"
    Adapters.switch_on(config, traces: ENV["ADAPTERS"] == "all")
  end
end
Guildhall::Kafka.instrumentation.subscribe("consumer.skipped") { |event| STOPWATCH.add(event.payload[:read], 0) }
Guildhall::Kafka.instrumentation.subscribe("error.occurred") { |event| warn(event.payload[:error].full_message) }
Guildhall::Kafka.routes do
  multiplexing Integer(ENV["MEMBERS"]) if ENV["MEMBERS"]
  topic(name) do
    consumer({"raw" => RawConsumer, "stages" => StagesConsumer, "checks" => StagesConsumer, "cpu" => WorkConsumer,
              "io" => WorkConsumer, "virtual" => WorkConsumer, "latency" => LatencyConsumer, "memory" => MemoryConsumer,
              "survey" => SurveyConsumer, "columns" => ColumnsConsumer, "rows" => RowsConsumer}.fetch(mode, FieldsConsumer))
    case mode
    when "document", "columns", "rows", "latency", "memory", "members" then deserializer Guildhall::JSON.lazy
    when "hash", "survey" then deserializer Guildhall::JSON
    when "stages" then deserializer Stages::ALL
    when "checks" then deserializer Stages::EAGER
    when "schema" then deserializer Stages::VALID
    when "virtual" then virtual_partitions partitioner: lambda(&:offset), reducer: lambda(&:itself)
    end
    if mode == "members"
      filter Balanced
      kafka("queued.max.messages.kbytes": 1_000) # of each partition: what is fetched while the members join is not to count
    end
    filter ReadAhead if ENV["FREEZE"]
    deserializing parallel: ENV["PARALLEL"] == "true" if ENV["PARALLEL"]
  end
end
Thread.new { Guildhall::Kafka.run }
STOPWATCH.report
exit!(0)
