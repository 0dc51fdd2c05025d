# frozen_string_literal: true

require "rdkafka"
require_relative "orders"

# Topics of 5 partitions, filled once and used again by every contender.
class Topics
  PARTITIONS = 5
  DISTINCT = 200

  def initialize(servers)
    @servers = servers
  end

  # @param bytes [Integer] a payload
  # @param count [Integer] messages
  # @return [String] the topic's name
  def filled(bytes, count)
    name = "guildhall-bench-#{bytes}-#{count}"
    create(name)
    missing = count - size(name)
    abort("#{name} holds #{-missing} messages too many: restart the broker") if missing.negative?
    fill(name, bytes, count) if missing == count
    abort("#{name} was not filled to its end: restart the broker") unless size(name) == count
    name
  end

  private

  def create(name)
    client(:admin) { |admin| admin.create_topic(name, PARTITIONS, 1).wait(max_wait_timeout_ms: 15_000) }
  rescue Rdkafka::RdkafkaError => error
    raise unless error.code == :topic_already_exists
  end

  # Right after the topic was made, nobody leads its partitions yet.
  def size(name, tries = 20)
    client(:consumer, "group.id": "bench-size") do |consumer|
      (0...PARTITIONS).sum { |partition| consumer.query_watermark_offsets(name, partition, 10_000).last }
    end
  rescue Rdkafka::RdkafkaError
    raise if tries.zero?

    sleep(0.2)
    size(name, tries - 1)
  end

  def fill(name, bytes, count)
    documents = Array.new([DISTINCT, count].min) { |index| Orders.document(bytes, index) }
    client(:producer, "linger.ms": 20, "batch.size": 1_000_000, "queue.buffering.max.kbytes": 200_000) do |producer|
      pending = []
      count.times do |index|
        pending << producer.produce(topic: name, payload: documents[index % documents.size], key: index.to_s, partition: index % PARTITIONS)
        pending.shift(5_000).each(&:wait) if pending.size > 10_000
      end
      pending.each(&:wait)
    end
  end

  def client(kind, **settings)
    client = Rdkafka::Config.new({"bootstrap.servers": @servers, log_level: 3, **settings}).public_send(kind)
    yield(client)
  ensure
    client&.close
  end
end
