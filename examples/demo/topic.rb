# frozen_string_literal: true

require "rdkafka"
require_relative "corpus"
require_relative "progress"

module Demo
  # The topic that both consumers read: made, filled, and checked to hold what was sent.
  class Topic
    PARTITIONS = 12
    # Messages that may be on their way at once.
    WINDOW = 2_000
    # Compressed, because the embedded broker keeps 5 MB a partition.
    PRODUCER = {"compression.type": "lz4", "linger.ms": 20, "batch.size": 1_000_000, "message.timeout.ms": 60_000,
                "enable.idempotence": true}.freeze

    # The broker no longer has all that was sent.
    class Lost < StandardError; end

    attr_reader :name

    # @param name [String]
    # @param servers [String] bootstrap servers
    # @param broker [Guildhall::Kafka::EmbeddedBroker, nil] nil: a real one
    def initialize(name, servers:, broker: nil)
      @name = name
      @settings = {"bootstrap.servers": servers, log_level: 3}
      @broker = broker
    end

    # Sends what the topic does not hold yet. Each partition gets its messages in the corpus' order, so that what is
    # missing after an interruption is known from the partition's size.
    # @return [void]
    def fill(corpus, stop)
      create
      held = watermarks.map(&:last)
      progress = Progress.new("sending", corpus.size)
      with_producer { |producer| send_all(producer, corpus, held, progress, stop) }
      progress.done
      check_nothing_dropped
    end

    # @return [Array<Array(Integer, Integer)>] per partition the first offset it holds and the one after the last
    def watermarks
      with_client(:consumer, "group.id": "#{@name}-watermarks") do |consumer|
        Array.new(PARTITIONS) { |partition| consumer.query_watermark_offsets(@name, partition, 10_000) }
      end
    end

    # @return [Integer] how many messages the topic holds
    def size
      watermarks.sum { |low, high| high - low }
    end

    # @return [Array<Integer>] per partition the offset that the group committed; 0 where it has none
    def committed(group)
      with_client(:consumer, "group.id": group) do |consumer|
        list = Rdkafka::Consumer::TopicPartitionList.new
        list.add_topic(@name, PARTITIONS)
        consumer.committed(list, 10_000).to_h.fetch(@name).map { |partition| partition.offset.to_i.clamp(0..) }
      end
    end

    private

    def create
      return @broker.create_topic(@name, partitions: PARTITIONS) if @broker

      with_client(:admin) { |admin| admin.create_topic(@name, PARTITIONS, 1).wait(max_wait_timeout_ms: 15_000) }
    rescue Rdkafka::RdkafkaError => error
      raise unless error.code == :topic_already_exists
    end

    def send_all(producer, corpus, held, progress, stop)
      pending = []
      corpus.each.with_index(1) do |message, count|
        return if stop.call

        partition = Corpus.partition(message.key, PARTITIONS)
        next held[partition] -= 1 if held[partition].positive?

        pending << deliver(producer, message, partition)
        pending = settle(pending, progress, count) if pending.size >= WINDOW
      end
      settle(pending, progress, corpus.size)
    end

    def deliver(producer, message, partition)
      producer.produce(topic: @name, partition:, key: message.key, payload: message.payload, headers: {"event" => message.event})
    end

    def settle(pending, progress, count)
      pending.each { |handle| handle.wait(max_wait_timeout_ms: 60_000) }
      progress.at(count)
      []
    end

    def check_nothing_dropped
      moved = watermarks.each_with_index.filter_map { |(low, _), partition| "#{partition} begins at #{low}" if low.positive? }
      raise Lost, "the broker dropped messages: partition #{moved.join(", ")}; send fewer with --messages" if moved.any?
    end

    def with_producer(&)
      with_client(:producer, **PRODUCER, &)
    end

    def with_client(kind, **settings)
      client = Rdkafka::Config.new(@settings.merge(settings)).public_send(kind)
      yield(client)
    ensure
      client&.close
    end
  end
end
