# frozen_string_literal: true

require "rdkafka"
require_relative "orders"

# Topics, filled once and used again by every contender.
class Topics
  PARTITIONS = 5
  WINDOW_BYTES = 50_000_000 # on their way at once

  def initialize(servers)
    @servers = servers
  end

  # @param bytes [Integer] a payload
  # @param count [Integer] messages
  # @param used [Integer] how many partitions, the first ones, hold all messages
  # @return [String] the topic's name
  def filled(bytes, count, partitions: PARTITIONS, used: partitions)
    name = "#{prefix}-#{bytes}-#{count}-#{partitions}-#{used}"
    create(name, partitions)
    fill(name, bytes, held(name, partitions).each_with_index.map { |held, index| index < used ? (count / used) - held : 0 })
    found = held(name, partitions).sum
    abort("#{name} holds #{found} messages, not #{count}: restart the broker") unless found == count
    name
  end

  # @return [String] the name of an empty topic
  def empty
    "guildhall-bench-#{Process.pid}-#{rand(1_000_000)}".tap { |name| create(name, PARTITIONS) }
  end

  # Adds messages to a topic of {#empty}, evenly.
  # @param bytes [Integer] a payload
  # @param count [Integer] messages, a multiple of {PARTITIONS}
  # @return [void]
  def feed(name, bytes, count)
    fill(name, bytes, [count / PARTITIONS] * PARTITIONS)
  end

  # Sends messages that say when they were sent, at an even pace.
  # @param rate [Integer] messages a second
  # @param count [Integer]
  # @return [void]
  def trickle(name, rate, count)
    filling = "x" * 900
    client(:producer, "linger.ms": 0) do |producer|
      began = now
      count.times do |index|
        wait = began + index.fdiv(rate) - now
        sleep(wait) if wait.positive?
        producer.produce(topic: name, partition: index % PARTITIONS,
          payload: %({"sent":#{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)},"text":"#{filling}"}))
      end
      producer.flush
    end
  end

  private

  def prefix = "guildhall-bench"
  def payload(bytes, index) = Orders.document(bytes, index)
  def distinct(_bytes) = 200
  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def create(name, partitions)
    client(:admin) { |admin| admin.create_topic(name, partitions, 1).wait(max_wait_timeout_ms: 15_000) }
  rescue Rdkafka::RdkafkaError => error
    raise unless error.code == :topic_already_exists
  end

  # Right after the topic was created, its partitions have no leader yet.
  def held(name, partitions, tries = 20)
    client(:consumer, "group.id": "bench-size") do |consumer|
      Array.new(partitions) { |partition| consumer.query_watermark_offsets(name, partition, 10_000).last }
    end
  rescue Rdkafka::RdkafkaError
    raise if tries.zero?

    sleep(0.2)
    held(name, partitions, tries - 1)
  end

  def fill(name, bytes, missing)
    return if missing.none?(&:positive?)

    documents = Array.new([distinct(bytes), missing.sum].min) { |index| payload(bytes, index) }
    window = WINDOW_BYTES / bytes
    client(:producer, "linger.ms": 20, "batch.size": 1_000_000, "queue.buffering.max.kbytes": 200_000) do |producer|
      pending = []
      missing.max.times do |index|
        missing.each_with_index do |count, partition|
          next if index >= count

          payload = documents[((index * missing.size) + partition) % documents.size]
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
