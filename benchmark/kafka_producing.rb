# frozen_string_literal: true

# Producing on a real broker: the application's producer against waterdrop, with the same librdkafka settings; bytes that are sent as they
# are, in batches and one by one, and objects that a codec or JSON.generate encodes. Timed until the broker has all of them.
require "waterdrop" # before the first Ractor
require_relative "support/bench"
require_relative "kafka/topics"
require "guildhall/kafka"
require "guildhall/json"

# What each row does.
class KafkaProducingRows
  COUNTS = {1 => [50_000, 15_000], 5 => [20_000, 5_000]}.freeze # KB => messages, messages with --quick
  CHUNK = 500

  def initialize(bench, servers)
    @bench = bench
    @topic = Topics.new(servers).empty
    name = @topic
    Guildhall::Kafka.configure do |config|
      config.kafka = {"bootstrap.servers": servers}
      config.producer = {"linger.ms": 5}
      config.logger = nil
    end
    Guildhall::Kafka.routes { topic(name) { serializer Guildhall::JSON } }
    settings = Guildhall::Kafka::Producing::Settings.of(Guildhall::Kafka.config)
    @waterdrop = WaterDrop::Producer.new do |config|
      config.kafka = settings
      config.max_payload_size = 100_000_000
      config.logger = Logger.new(nil)
    end
    @ours = Guildhall::Kafka.producer
  end

  def run
    COUNTS.each do |kb, counts|
      texts = Array.new(CHUNK) { |index| Orders.document(kb * 1000, index) }
      objects = texts.map { |text| JSON.parse(text) }
      rounds = counts[@bench.quick? ? 1 : 0] / CHUNK
      compare("kafka_producing.bytes.#{kb}KB", "waterdrop", -> { send(@ours, texts, rounds) }, -> { send(@waterdrop, texts, rounds) })
      compare("kafka_producing.objects.#{kb}KB", "waterdrop, JSON.generate", -> { send(@ours, objects, rounds) },
        -> { send(@waterdrop, objects, rounds) { |object| JSON.generate(object) } })
      compare("kafka_producing.single.#{kb}KB", "waterdrop", -> { send_singly(@ours, texts, rounds) }, -> { send_singly(@waterdrop, texts, rounds) }, goal: 1.0)
    end
  ensure
    [@waterdrop, @ours].each(&:close)
  end

  private

  # @param goal [Float] at least this many times as fast
  def compare(name, against, *contenders, goal: 2.0)
    return unless @bench.wanted?(name)

    comparison = Bench::Comparison.new(contenders, warm_up: 0)
    comparison.check(name)
    @bench.row(name, against:, ratio: comparison.ratios(@bench.quick? ? 5 : 11).first, goal:)
  end

  # @return [Integer] messages that the broker has
  def send_singly(producer, payloads, rounds)
    handles = Array.new(rounds) do
      payloads.each_with_index.map { |payload, index| producer.produce_async(topic: @topic, key: "k#{index}", payload:) }
    end
    handles.flatten.count { |handle| handle.wait(max_wait_timeout_ms: 60_000).offset >= 0 }
  end

  # @return [Integer] messages that the broker has
  def send(producer, payloads, rounds)
    handles = Array.new(rounds) do
      producer.produce_many_async(payloads.each_with_index.map { |payload, index| {topic: @topic, key: "k#{index}", payload: block_given? ? yield(payload) : payload} })
    end
    handles.flatten.count { |handle| handle.wait(max_wait_timeout_ms: 60_000).offset >= 0 }
  end
end

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
abort("bin/bench kafka_producing: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?
Bench.script("kafka_producing") { |bench| KafkaProducingRows.new(bench, servers).run }
