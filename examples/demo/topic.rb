# frozen_string_literal: true

require "rdkafka"
require_relative "corpus"
require_relative "progress"

module Demo
  # The topic that both consumers read: made, filled, and checked to hold what was sent.
  class Topic
    FEWEST = 12
    # What a partition of the embedded broker holds, with a good margin.
    MESSAGES_A_PARTITION = 1_700
    NO_LEADER_YET = %i[not_leader_for_partition leader_not_available unknown_topic_or_part unknown_partition].freeze
    # Messages that may be on their way at once.
    WINDOW = 2_000
    # Compressed, because the embedded broker keeps 5 MB a partition.
    PRODUCER = {"compression.type": "lz4", "linger.ms": 20, "batch.size": 1_000_000, "message.timeout.ms": 60_000,
                "enable.idempotence": true}.freeze

    ANSWER_MS = 10_000

    # The broker no longer has all that was sent.
    class Lost < StandardError; end
    # No broker answers.
    class Unreachable < StandardError; end

    attr_reader :name, :partitions

    # @param name [String]
    # @param servers [String] bootstrap servers
    # @param messages [Integer] how many there will be
    # @param broker [Guildhall::Kafka::Testing::EmbeddedBroker, nil] nil: a real one
    def initialize(name, messages:, servers:, broker: nil)
      @name = name
      @partitions = [FEWEST, messages.fdiv(MESSAGES_A_PARTITION).ceil].max
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
        Array.new(@partitions) { |partition| watermark(consumer, partition) }
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
        list.add_topic(@name, @partitions)
        consumer.committed(list, 10_000).to_h.fetch(@name).map { |partition| partition.offset.to_i.clamp(0..) }
      end
    end

    private

    # A topic that was made a moment ago has no leader yet.
    def watermark(consumer, partition, attempts: 50)
      consumer.query_watermark_offsets(@name, partition, 10_000)
    rescue Rdkafka::RdkafkaError => error
      raise unless NO_LEADER_YET.include?(error.code) && attempts.positive?

      sleep(0.1)
      watermark(consumer, partition, attempts: attempts - 1)
    end

    def create
      return @broker.create_topic(@name, partitions: @partitions) if @broker

      with_client(:admin, log_level: 0) do |admin|
        check_broker(admin)
        admin.create_topic(@name, @partitions, 1).wait(max_wait_timeout_ms: 15_000)
      end
    rescue Rdkafka::RdkafkaError => error
      raise unless error.code == :topic_already_exists
    end

    # A client with a request that no broker answers cannot be closed for a minute: asked first.
    def check_broker(admin)
      admin.metadata(nil, ANSWER_MS)
    rescue Rdkafka::RdkafkaError
      raise Unreachable, "no broker answers at #{@settings[:"bootstrap.servers"]}: start it, " \
                         "or unset KAFKA_BOOTSTRAP_SERVERS for a broker inside the demo"
    end

    def send_all(producer, corpus, held, progress, stop)
      pending = []
      corpus.each.with_index(1) do |message, count|
        return if stop.call

        partition = Corpus.partition(message.key, @partitions)
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
