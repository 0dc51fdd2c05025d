# frozen_string_literal: true

require "rdkafka"
require_relative "orders"

# Topics of 5 partitions, filled once and used again by every contender.
class Topics
  PARTITIONS = 5
  DISTINCT = 200
  WINDOW_BYTES = 50_000_000 # on their way at once

  def initialize(servers)
    @servers = servers
  end

  # @param bytes [Integer] a payload
  # @param count [Integer] messages
  # @return [String] the topic's name
  def filled(bytes, count)
    name = "guildhall-bench-#{bytes}-#{count}"
    create(name)
    fill(name, bytes, held(name).map { |held| (count / PARTITIONS) - held })
    abort("#{name} holds #{held(name).sum} messages, not #{count}: restart the broker") unless held(name).sum == count
    name
  end

  private

  def create(name)
    client(:admin) { |admin| admin.create_topic(name, PARTITIONS, 1).wait(max_wait_timeout_ms: 15_000) }
  rescue Rdkafka::RdkafkaError => error
    raise unless error.code == :topic_already_exists
  end

  # Right after the topic was made, nobody leads its partitions yet.
  def held(name, tries = 20)
    client(:consumer, "group.id": "bench-size") do |consumer|
      Array.new(PARTITIONS) { |partition| consumer.query_watermark_offsets(name, partition, 10_000).last }
    end
  rescue Rdkafka::RdkafkaError
    raise if tries.zero?

    sleep(0.2)
    held(name, tries - 1)
  end

  def fill(name, bytes, missing)
    documents = Array.new(DISTINCT) { |index| Orders.document(bytes, index) }
    window = WINDOW_BYTES / bytes
    client(:producer, "linger.ms": 20, "batch.size": 1_000_000, "queue.buffering.max.kbytes": 200_000) do |producer|
      pending = []
      missing.max.times do |index|
        missing.each_with_index do |count, partition|
          next if index >= count

          payload = documents[((index * PARTITIONS) + partition) % DISTINCT]
          pending << producer.produce(topic: name, payload:, key: index.to_s, partition:)
        end
        pending.shift(window / 2).each(&:wait) if pending.size > window
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
