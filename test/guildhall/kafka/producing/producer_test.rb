# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/json"
require "guildhall/msgpack"

# In a process each: waterdrop's threads outlive its producers.
class KafkaProducerTest < GuildhallTest
  PROLOGUE = <<~'RUBY'
    require "guildhall/kafka"
    require "guildhall/kafka/testing"
    require "guildhall/json"
    require "guildhall/msgpack"
    Rdkafka::Config.logger = Logger.new($stderr, level: Logger::FATAL)

    def read(broker, topic, count)
      consumer = Rdkafka::Config.new("bootstrap.servers": broker.bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest").consumer
      consumer.subscribe(topic)
      messages = []
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
      while messages.size < count && Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
        message = consumer.poll(100)
        messages << message if message
      end
      consumer.close
      messages
    end

    READING = Guildhall::JSON.lazy >> Guildhall.map(Ractor.make_shareable(:id.to_proc))
    TOTAL = Struct.new(:prefix) { def call(number) = "#{prefix} #{number}" }.new("total")

    def equal(expected, actual)
      raise "expected #{expected.inspect}, got #{actual.inspect}" unless expected == actual
    end
  RUBY

  def test_payloads_are_encoded_as_the_route_says
    assert_forked(PROLOGUE + <<~'RUBY')
      Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
        %w[orders events totals].each { |name| broker.create_topic(name) }
        Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": broker.bootstrap_servers, "session.timeout.ms": 6_000} }
        Guildhall::Kafka.routes do
          pattern(/^ev/) { deserializer(READING) && consumer(Guildhall::Kafka::Consumer) }
          topic("totals") { serializer TOTAL }
          topic("orders") do
            consumer Guildhall::Kafka::Consumer
            deserializer Guildhall::JSON.lazy
            serializer Guildhall::MessagePack
          end
        end
        producer = Guildhall::Kafka.producer
        equal(producer, Guildhall::Kafka.producer)
        producer.produce_sync(topic: "orders", payload: {"id" => 1})
        producer.produce_many_sync([{topic: :orders, payload: "bytes \xFF".b}, {topic: "orders", payload: nil, key: "gone"}])
        producer.produce_async(topic: "events", payload: {"id" => 2}).wait
        producer.produce_many_async([{topic: "totals", payload: 3}]).each(&:wait)
        producer.buffer(topic: "totals", payload: 4)
        producer.flush_sync
        error = begin
          producer.produce_sync(topic: "else", payload: {"id" => 1})
        rescue Guildhall::EncodeError => error
          error.message
        end
        equal("topic else: no serializer for a Hash: give the topic's route a serializer", error)
        equal([Guildhall::MessagePack.encode({"id" => 1}), "bytes \xFF".b, nil], read(broker, "orders", 3).map(&:payload))
        equal([%({"id":2})], read(broker, "events", 1).map(&:payload))
        equal(["total 3", "total 4"], read(broker, "totals", 2).map(&:payload))
        equal(true, Guildhall::Kafka.stop(timeout: 10))
      end
    RUBY
  end

  def test_what_is_left_is_delivered_when_the_process_ends
    assert_forked(PROLOGUE + <<~'RUBY')
      Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
        broker.create_topic("t")
        equal(true, system(RbConfig.ruby, "-e", <<~'CHILD', broker.bootstrap_servers))
          require "guildhall/kafka"
          Guildhall::Kafka.configure do |config|
            config.kafka = {"bootstrap.servers": ARGV.first}
            config.producer = {"linger.ms" => 5_000}
          end
          100.times { |i| Guildhall::Kafka.producer.produce_async(topic: "t", payload: i.to_s, partition: 0) }
        CHILD
        equal((0...100).map(&:to_s), read(broker, "t", 100).map(&:payload))
      end
    RUBY
  end

  # Zeitwerk's and Ruby's wrappers of Kernel#require get on in one order only.
  def test_a_producer_that_is_asked_for_after_the_workers_have_begun
    assert_forked(PROLOGUE + <<~'RUBY')
      class Passing < Guildhall::Kafka::Consumer
        def consume
          messages.each { |message| producer.produce_sync(topic: "out", payload: message.payload, partition: 0) }
        end
      end
      TASK = Guildhall::JSON.lazy >> Guildhall.map(Ractor.make_shareable(:to_h.to_proc))
      Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
        %w[in out].each { |name| broker.create_topic(name) }
        Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest"} }
        Guildhall::Kafka.routes do
          topic("in") { consumer(Passing) && deserializer(TASK) && deserializing(parallel: true) }
          topic("out") { serializer Guildhall::JSON }
        end
        filling = Rdkafka::Config.new("bootstrap.servers": broker.bootstrap_servers).producer
        filling.produce(topic: "in", payload: %({"id": 1}), partition: 0).wait
        filling.close
        Guildhall::Kafka.start
        equal([%({"id":1})], read(broker, "out", 1).map(&:payload))
        equal(true, Guildhall::Kafka.stop(timeout: 10))
      end
    RUBY
  end

  def test_waterdrop_that_is_loaded_too_late_is_reported
    assert_ruby(<<~'RUBY')
      $VERBOSE = nil
      require "guildhall/kafka"
      Ractor.new { 1 }
      Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }
      error = begin
        Guildhall::Kafka.producer
      rescue Guildhall::MissingDependencyError => error
        error.message
      end
      raise error.inspect unless error.to_s.include?("because there was a Ractor before it")
    RUBY
  end

  def test_steps_of_the_applications_own_see_the_payload_before_it_is_encoded
    assert_forked(PROLOGUE + <<~'RUBY')
      Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
        broker.create_topic("orders")
        broker.create_topic("later.1")
        Guildhall::Kafka.configure do |config|
          config.kafka = {"bootstrap.servers": broker.bootstrap_servers}
          config.producer_middleware << ->(message) { message.merge(headers: {"traced" => message[:topic]}, payload: {**message[:payload], "by" => "me"}) }
        end
        Guildhall::Kafka.routes do
          topic("orders") { serializer Guildhall::JSON }
          delay_topics 1, prefix: "later"
        end
        Guildhall::Kafka.producer.produce_sync(topic: "orders", payload: {"id" => 1})
        Guildhall::Kafka.producer.produce_later(at: Time.now + 60, topic: :orders, payload: {"id" => 2})
        equal([[%({"id":1,"by":"me"}), {"traced" => "orders"}]], read(broker, "orders", 1).map { |message| [message.payload, message.headers] })
        message = read(broker, "later.1", 1).first
        equal([%({"id":2,"by":"me"}), "orders", "orders"], [message.payload, message.headers["traced"], message.headers["delay_topic"]])
        equal(true, Guildhall::Kafka.stop(timeout: 10))
      end
    RUBY
  end

  def test_a_queue_that_stays_full_says_what_to_do
    assert_forked(PROLOGUE + <<~'RUBY')
      Guildhall::Kafka.configure do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        config.producer = {"queue.buffering.max.messages": 3}
        config.logger = nil
      end
      Guildhall::Kafka.routes { topic("t") { serializer Guildhall::JSON } }
      producer = Guildhall::Kafka.producer
      producer.config.wait_timeout_on_queue_full = 300
      3.times { producer.produce_async(topic: "t", payload: "x") }
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      [-> { producer.produce_async(topic: "t", payload: "x") }, -> { producer.produce_many_async([{topic: "t", payload: "x"}]) }].each do |produce|
        error = begin
          produce.call
        rescue Guildhall::Kafka::QueueFullError => error
          error
        end
        equal(true, error.is_a?(WaterDrop::Errors::ProduceError))
        equal(true, error.message.include?("raise queue.buffering.max.messages"))
      end
      equal(true, Process.clock_gettime(Process::CLOCK_MONOTONIC) - began >= 0.3)
      Guildhall::Kafka.stop(timeout: 1)
    RUBY
  end

  def test_an_undelivered_message_without_a_waiting_caller_is_reported
    assert_forked(PROLOGUE + <<~'RUBY')
      Guildhall::Kafka.configure do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        config.producer = {"message.timeout.ms": 200}
        config.logger = nil
      end
      Guildhall::Kafka.routes { topic("t") { serializer Guildhall::JSON } }
      errors = Thread::Queue.new
      Guildhall::Kafka.instrumentation.subscribe("error.occurred") { |event| errors << event.payload }
      Guildhall::Kafka.producer.produce_async(topic: "t", payload: "x", partition: 0)
      payload = errors.pop(timeout: 30)
      payload = errors.pop(timeout: 30) until payload.nil? || payload[:topic]
      equal([:msg_timed_out, "producer", "t"], [payload[:error].code, payload[:type], payload[:topic]])
      Guildhall::Kafka.stop(timeout: 1)
    RUBY
  end

  def test_wrong_settings_are_reported
    assert_forked(PROLOGUE + <<~'RUBY')
      Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": "localhost:1"} && config.producer = {"linger" => 1} }
      error = begin
        Guildhall::Kafka.producer
      rescue Guildhall::ConfigurationError => error
        error.message
      end
      raise error.inspect unless error.include?("producer: No such configuration property: \"linger\"")
    RUBY
  end
end
