# frozen_string_literal: true

require_relative "plan"

module Soaking
  # Reads what transactions have committed and the dead letters, all of it and each message once, whatever becomes of brokers meanwhile.
  class Readers
    POLL_MS = 200

    def initialize(servers, topics, ledger)
      @ledger = ledger
      @next = Hash.new(0) # by topic and partition: what comes before was seen
      @stopping = false
      @threads = {out: :committed, dead: :dead}.map do |kind, method|
        Thread.new { read(servers, topics.fetch(kind)) { |message| send(method, message) } }
      end
    end

    def stop
      @stopping = true
      @threads.each(&:join)
    end

    private

    def committed(message)
      payload = Guildhall::JSON.decode(message.payload)
      @ledger.committed(payload["s"], payload["n"], Plan.now - payload["t"])
    end

    def dead(message)
      sender, number = message.headers.fetch("id").split
      @ledger.dead(sender, Integer(number))
    end

    def read(servers, topic)
      consumer = Rdkafka::Config.new("bootstrap.servers": servers, "group.id": "#{topic}.reader", "auto.offset.reset": "earliest", "enable.auto.commit": false,
        "isolation.level": "read_committed", log_level: 0).consumer
      assign(consumer, topic)
      until @stopping
        message = poll(consumer) or next
        place = [topic, message.partition]
        next if message.offset < @next[place] # librdkafka has begun again

        @next[place] = message.offset + 1
        yield message
      end
    ensure
      consumer&.close
    end

    def assign(consumer, topic)
      list = Rdkafka::Consumer::TopicPartitionList.new
      list.add_topic_and_partitions_with_offsets(topic, (0...Cluster::PARTITIONS).to_h { |partition| [partition, 0] })
      consumer.assign(list)
    end

    def poll(consumer)
      consumer.poll(POLL_MS)
    rescue Rdkafka::RdkafkaError
      nil # an outage, and librdkafka goes on
    end
  end
end
