# frozen_string_literal: true

# Reading a topic in a script, on a real broker: `Guildhall::Kafka.each_message` against a plain loop over karafka-rdkafka's consumer, assigned
# to the same partitions, with JSON.parse: what an iterator without a reader of its own does. Of each message, five fields are read.
require_relative "support/bench"
require_relative "kafka/topics"
require_relative "kafka/settings"
require "guildhall/kafka"
require "guildhall/json"

# What each row does.
class KafkaIteratorRows
  # KB => messages, messages with --quick
  SIZES = {1 => [100_000, 30_000], 5 => [40_000, 10_000]}.freeze
  GOALS = {1 => nil, 5 => 3.0}.freeze

  def initialize(bench, servers)
    @bench = bench
    @servers = servers
    @topics = Topics.new(servers)
    Guildhall::Kafka.configure do |config|
      config.kafka = {"bootstrap.servers": servers, **SETTINGS, "queued.max.messages.kbytes": 10_000}
      config.logger = nil
    end
  end

  def run
    SIZES.each do |kb, counts|
      next unless @bench.wanted?(name = "kafka_iterator.#{kb}KB")

      count = counts[@bench.quick? ? 1 : 0]
      topic = @topics.filled(kb * 1000, count)
      comparison = Bench::Comparison.new([-> { ours(topic) }, -> { plain(topic, count) }], warm_up: 0)
      comparison.check(name) { |results| results.uniq == [results.first] && results.first.first == count }
      @bench.row(name, against: "a plain loop, JSON.parse", ratio: comparison.ratios(@bench.quick? ? 3 : 7).first, goal: GOALS.fetch(kb))
    end
  end

  private

  def ours(topic)
    count = sum = 0
    Guildhall::Kafka.each_message(topic, deserializer: Guildhall::JSON.lazy) do |message|
      count += 1
      sum += read(message.payload)
    end
    [count, sum]
  end

  def plain(topic, expected)
    consumer = Rdkafka::Config.new("bootstrap.servers": @servers, "group.id": "plain", "enable.auto.commit": false, **SETTINGS).consumer
    list = Rdkafka::Consumer::TopicPartitionList.new(topic => Array.new(Topics::PARTITIONS) { |number| Rdkafka::Consumer::Partition.new(number, 0) })
    consumer.assign(list)
    count = sum = 0
    while count < expected
      message = consumer.poll(1_000) or next
      count += 1
      sum += read(JSON.parse(message.payload))
    end
    [count, sum]
  ensure
    consumer.close
  end

  def read(order)
    order["id"] + order["status"].size + order["customer"]["email"].size + order["items"][0]["quantity"] + (order["customer"]["vip"] ? 1 : 0)
  end
end

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
abort("bin/bench kafka_iterator: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?
Bench.script("kafka_iterator") { |bench| KafkaIteratorRows.new(bench, servers).run }
