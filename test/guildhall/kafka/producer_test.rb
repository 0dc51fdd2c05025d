# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/json"
require "guildhall/msgpack"
require "support/client_failure"

# In a process each, as they are in production: what is left when a process ends counts.
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
        equal(true, Guildhall::Kafka.stop(timeout: 60))
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

  def test_what_a_child_has_produced_with_its_parents_producer_is_delivered_when_it_ends
    assert_forked(PROLOGUE + <<~'RUBY')
      Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
        broker.create_topic("t")
        equal(true, system(RbConfig.ruby, "-e", <<~'CHILD', broker.bootstrap_servers))
          require "guildhall/kafka"
          Guildhall::Kafka.configure do |config|
            config.kafka = {"bootstrap.servers": ARGV.first}
            config.producer = {"linger.ms" => 3_000}
          end
          kept = Guildhall::Kafka.producer
          kept.produce_async(topic: "t", payload: "parent", partition: 0).wait
          Process.wait(fork { 10.times { |i| kept.produce_async(topic: "t", payload: i.to_s, partition: 0) } })
          Process.wait(fork { kept.buffer(topic: "t", payload: "child's buffer", partition: 0) })
          kept.buffer(topic: "t", payload: "parent's buffer", partition: 0)
        CHILD
        equal(["parent", *(0...10).map(&:to_s), "child's buffer", "parent's buffer"], read(broker, "t", 13).map(&:payload))
      end
    RUBY
  end

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
        equal(true, Guildhall::Kafka.stop(timeout: 60))
      end
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
        equal(true, Guildhall::Kafka.stop(timeout: 60))
      end
    RUBY
  end

  def test_a_queue_that_stays_full_says_what_to_do
    producer = Guildhall::Kafka::Producer.new({"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": 3}, full_seconds: 0.3)
    3.times { producer.produce_async(topic: "t", payload: "x") }
    began = Guildhall::Clock.now
    [-> { producer.produce_async(topic: "t", payload: "x") }, -> { producer.produce_many_async([{topic: "t", payload: "x"}]) }].each do |produce|
      error = assert_raises(Guildhall::Kafka::QueueFullError, &produce)
      assert_kind_of Guildhall::Kafka::ProduceError, error
      assert_match(/raise queue.buffering.max.messages/, error.message)
    end
    assert_operator Guildhall::Clock.now - began, :>=, 0.6
  ensure
    producer.close(Guildhall::Clock.now)
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
      payload = errors.pop(timeout: 60)
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

# What a message may have: sent to a broker in this process, and read again.
class KafkaProducedMessagesTest < GuildhallTest
  # As Hashes of the reader are: frozen, with several values of a name, and without a value.
  HEADERS = Ractor.make_shareable({"one" => "1", "many" => ["a", nil, "\xFF\x00".b], "none" => nil, "empty" => "", "bytes" => "\x80\x00\xFE".b})

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @application = Guildhall::Kafka::Application.new
    @application.config.logger = nil
    @application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
    @broker.create_topic("in", partitions: 1)
    @broker.create_topic("out", partitions: 1)
  end

  def teardown
    @application.stop(timeout: 10)
    @broker.stop
  end

  def producer = @application.producer

  # A step that changes the headers in place, as tracers do.
  def adding(name, value)
    lambda do |message|
      (message[:headers] ||= {})[name] = value
      message
    end
  end

  # @return [Array<Guildhall::Kafka::Message>] all of the topic
  def read(topic) = @application.each_message(topic).to_a

  def test_headers_of_a_message_can_be_given_on_although_middleware_adds_some
    producer.middleware.prepend(adding("first", "x"))
    producer.middleware.append(adding("last", nil))
    producer.produce_sync(topic: "in", payload: "1", headers: HEADERS)
    received = read("in").first.headers
    assert_equal HEADERS.merge("first" => "x", "last" => nil), received
    assert_predicate received, :frozen?
    producer.produce_many_sync([{topic: "out", payload: "2", headers: received}.freeze, {topic: "out", payload: "3"}])
    assert_equal [received, {"first" => "x", "last" => nil}], read("out").map(&:headers)
  end

  def test_steps_of_the_application_may_add_headers_as_well
    @application.config.producer_middleware << adding("app", "shop")
    producer.produce_async(topic: "in", payload: "1", headers: HEADERS).wait
    assert_equal HEADERS.merge("app" => "shop"), read("in").first.headers
    refute HEADERS.key?("app")
  end

  def test_a_key_may_be_empty
    producer.produce_sync(topic: "in", payload: "1", key: "")
    producer.produce_sync(topic: "in", payload: "2")
    assert_equal ["", nil], read("in").map(&:key)
  end

  def test_a_message_for_later_may_have_an_empty_key_and_headers_of_another_message
    consumer = Class.new(Guildhall::Kafka::Consumer) { def consume = nil }
    @application.routes.draw do
      delay_topics 1, prefix: "later"
      topic("in") { consumer consumer }
    end
    @broker.create_topic("later.1", partitions: 1)
    producer.produce_later(at: Time.now + 60, topic: "out", payload: "1", key: "", headers: HEADERS)
    waiting = read("later.1").first
    assert_equal ["", HEADERS], [waiting.key, waiting.headers.slice(*HEADERS.keys)]
  end

  def test_a_consumed_message_is_sent_on_as_it_was
    producer.start({topic: "out", payload: "1", key: "", headers: HEADERS}).wait
    assert_equal [["", HEADERS]], read("out").map { |message| [message.key, message.headers] }
  end

  def test_a_dead_letter_has_the_headers_of_the_message
    consumer = Class.new(Guildhall::Kafka::Consumer) { def consume = raise("never") }
    @application.config.pause_timeout = 0.05
    @application.routes.draw do
      topic "in" do
        consumer consumer
        initial_offset :earliest
        dead_letter_queue topic: "out", max_retries: 0
      end
    end
    producer.produce_sync(topic: "in", payload: "1", key: "", headers: HEADERS)
    sent = Thread::Queue.new
    @application.instrumentation.subscribe("dead_letter_queue.dispatched") { sent << true }
    @application.start
    assert sent.pop(timeout: 60), "no dead letter"
    letter = read("out").first
    assert_equal ["", HEADERS], [letter.key, letter.headers.slice(*HEADERS.keys)]
  end
end

# The producer alone, without an application.
class KafkaProducerAloneTest < GuildhallTest
  Kafka = Guildhall::Kafka

  def setup
    @broker = Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("t", partitions: 1)
    @producer = Kafka::Producer.new({"bootstrap.servers": @broker.bootstrap_servers, "enable.idempotence": true})
  end

  def teardown
    @producer.close(Guildhall::Clock.now + 5)
    @broker.stop
  end

  # The gem would call librdkafka's partitioner without a topic, which ends the process.
  def test_a_partition_key_without_bytes
    assert_equal 0, @producer.produce_sync(topic: "t", payload: "x", partition_key: "").partition
  end

  def read
    application = Kafka::Application.new
    application.config.logger = nil
    application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
    application.each_message("t").map(&:payload)
  end

  # Does nothing more.
  def break_client(code = 45) = ClientFailure.of(@producer.instance_variable_get(:@client), code)

  def test_all_of_many
    deliveries = @producer.produce_many_sync(Array.new(1_000) { |number| {topic: "t", payload: number.to_s} })
    assert_equal (0...1_000).to_a, deliveries.map { |delivery| delivery.wait.offset }
    assert_equal Array.new(1_000, &:to_s), read
    assert_empty @producer.produce_many_sync([])
  end

  def test_after_a_fatal_error_there_is_a_new_client
    @producer.produce_sync(topic: "t", payload: "1")
    break_client
    assert_equal 1, @producer.produce_sync(topic: "t", payload: "2").offset
    break_client
    @producer.produce_many_async([{topic: "t", payload: "3"}, {topic: "t", payload: "4"}]).each(&:wait)
    assert_equal %w[1 2 3 4], read
  end

  def test_what_is_kept_is_sent_in_order_and_by_a_close
    assert_equal 1, @producer.buffer(topic: "t", payload: "1")
    assert_equal 3, @producer.buffer_many([{topic: "t", payload: "2"}, {topic: "t", payload: "3"}])
    assert_equal [0, 1, 2], @producer.flush_sync.map { |delivery| delivery.wait.offset }
    assert_empty @producer.flush_async
    @producer.buffer(topic: "t", payload: "4")
    assert @producer.close
    assert_raises(Kafka::ClosedProducerError) { @producer.produce_async(topic: "t", payload: "5") }
    assert_equal %w[1 2 3 4], read
  end

  # As by Ctrl-C.
  def test_a_close_that_was_interrupted_goes_on
    @producer.produce_sync(topic: "t", payload: "1")
    @broker.suspend
    @producer.produce_async(topic: "t", payload: "2")
    assert_raises(Timeout::Error) { Timeout.timeout(0.2) { @producer.close } }
    refute @producer.close(Guildhall::Clock.now + 0.7)
    @broker.resume
    assert @producer.close
  end

  def test_what_cannot_be_sent_is_kept
    producer = Kafka::Producer.new({"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": 2}, full_seconds: 0.01)
    5.times { |number| producer.buffer(topic: "t", payload: number.to_s) }
    error = assert_raises(Kafka::QueueFullError) { producer.flush_async }
    assert_equal [2, 3], [error.dispatched.size, producer.buffer_many([])]
    assert_raises(Guildhall::ArgumentError) { producer.buffer(1) }
    assert_raises(Guildhall::ArgumentError) { producer.buffer(topic: "t", payload: 1) }
    assert_equal 3, producer.buffer_many([])
    assert_raises(Timeout::Error) { Timeout.timeout(0.005) { producer.flush_async } }
    assert_equal 3, producer.buffer_many([])
    producer.purge
    assert_equal 0, producer.buffer_many([])
  ensure
    producer.close(Guildhall::Clock.now)
  end

  def test_a_listener_that_raises_does_not_keep_messages_from_arriving
    producer = Kafka::Producer.new({"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 100}, listener: ->(_event) { raise "no" })
    _, err = capture_io do
      2.times do
        assert_equal :msg_timed_out, assert_raises(Kafka::ProduceError) { producer.produce_sync(topic: "t", payload: "1") }.code
        producer.produce_async(topic: "t", payload: "1").tap { |delivery| eventually { !delivery.pending? } }
      end
      producer.close(Guildhall::Clock.now)
    end
    assert_match(/a producer's listener: RuntimeError: no/, err)
  end

  def test_a_listener_may_produce_and_wait_for_that
    answers = Thread::Queue.new
    failing = nil
    listener = lambda do |event|
      next unless event.first == :undelivered

      answers << @producer.produce_sync(topic: "t", payload: "about #{event[2]}").offset
      answers << failing.produce_async(topic: "gone", payload: "again") # with the one that it listens to
    end
    failing = Kafka::Producer.new({"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 100}, listener:)
    failing.produce_async(topic: "gone", payload: "1")
    assert_equal 0, answers.pop(timeout: 60)
    assert_kind_of Kafka::Producing::Delivery, answers.pop(timeout: 60)
  ensure
    failing&.close(Guildhall::Clock.now)
  end

  def test_a_listener_may_close_its_producer
    closed = Thread::Queue.new
    producer = Kafka::Producer.new({"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 100},
      listener: ->(event) { closed << producer.close(Guildhall::Clock.now + 1) if event.first == :undelivered })
    producer.produce_async(topic: "t", payload: "1")
    assert_equal true, closed.pop(timeout: 60)
    assert_raises(Kafka::ClosedProducerError) { producer.produce_sync(topic: "t", payload: "1") }
  end

  def test_what_a_fatal_error_drops_is_told
    told = Thread::Queue.new
    @producer.close
    @producer = Kafka::Producer.new({"bootstrap.servers": "127.0.0.1:1", "enable.idempotence": true}, listener: told.method(:push))
    lost = @producer.produce_many_async(Array.new(3) { {topic: "t", payload: "1"} })
    break_client
    delivery = @producer.produce_async(topic: "t", payload: "2")
    assert_predicate delivery, :pending?
    assert_equal([true] * 3, lost.map { |one| !one.tap { eventually { !one.pending? } }.error.nil? })
    assert_equal([[:undelivered, "t"]] * 3, Array.new(3) { pop(told, :undelivered).values_at(0, 2) })
    @producer.close(Guildhall::Clock.now)
    assert_raises(Kafka::ProduceError) { delivery.wait }
    assert_empty(Array.new(told.size) { told.pop.first } & [:undelivered]) # that is what the close has answered
  end

  def pop(events, kind)
    event = events.pop(timeout: 60) until event&.first == kind
    event
  end

  def test_odd_order
    assert_equal [true, true], [@producer.close, @producer.close]
    message = {topic: "t", payload: "1"}
    %i[produce_async produce_sync buffer].each { |name| assert_raises(Kafka::ClosedProducerError, name.to_s) { @producer.public_send(name, message) } }
    %i[produce_many_async produce_many_sync buffer_many].each { |name| assert_raises(Kafka::ClosedProducerError) { @producer.public_send(name, [message]) } }
    assert_raises(Kafka::ClosedProducerError) { @producer.partition_count("elsewhere") }
    assert_equal [[], [], 0, nil], [@producer.flush_async, @producer.flush_sync, @producer.queue_size, @producer.purge]
    unused = Kafka::Producer.new({"bootstrap.servers": "127.0.0.1:1"})
    assert unused.close
    assert_raises(Kafka::ClosedProducerError) { unused.produce_async(message) }
  end

  def test_what_is_no_message_and_steps_that_return_none
    [nil, "t", [1]].each do |odd|
      assert_match(/a message must be a Hash, not/, assert_raises(Guildhall::ArgumentError) { @producer.produce_sync(odd) }.message)
      assert_raises(Guildhall::ArgumentError) { @producer.buffer(odd) }
    end
    [nil, "t", {topic: "t"}].each do |odd|
      %i[produce_many_sync produce_many_async buffer_many].each do |name|
        assert_match(/an Array of messages is needed/, assert_raises(Guildhall::ArgumentError) { @producer.public_send(name, odd) }.message)
      end
    end
    assert_match(/partition_key must be/, assert_raises(Guildhall::ArgumentError) { @producer.produce_sync(topic: "t", partition_key: 1) }.message)
    assert_match(/topic must be/, assert_raises(Guildhall::ArgumentError) { @producer.produce_sync(topic: nil, partition_key: "1") }.message)
    @producer.middleware.append(->(message) { message[:payload] == "bad" ? nil : message })
    error = assert_raises(Guildhall::ArgumentError) { @producer.produce_many_sync([{topic: "t", payload: "1"}, {topic: "t", payload: "bad"}]) }
    assert_match(/producer_test.rb:\d+\) must return the message that goes on, not nil/, error.message)
    assert_equal 0, @producer.produce_sync(topic: "t", payload: "1").offset
  end

  def test_in_the_trap_of_a_signal
    results = Thread::Queue.new
    before = trap(:USR2) do
      results << @producer.produce_async(topic: "t", payload: "1")
      [-> { @producer.close }, -> { @producer.buffer(topic: "t") }, -> { @producer.flush_sync }].each do |call|
        call.call
      rescue StandardError => error
        results << error.class
      end
    end
    @producer.produce_sync(topic: "t", payload: "0")
    Process.kill(:USR2, Process.pid)
    assert_equal 1, results.pop(timeout: 60).wait.offset
    assert_equal [Guildhall::SignalTrapError] * 3, Array.new(3) { results.pop(timeout: 60) }
  ensure
    trap(:USR2, before || "DEFAULT")
  end

  def test_a_close_sends_what_is_kept_and_says_what_it_could_not
    producer = Kafka::Producer.new({"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": 2})
    producer.buffer_many(Array.new(3) { {topic: "t", payload: "1"} })
    began = Guildhall::Clock.now
    refute producer.close(Guildhall::Clock.now + 1)
    assert_operator Guildhall::Clock.now - began, :<, 5
    threads = Array.new(4) do
      Thread.new do
        sent = 0
        loop { @producer.buffer(topic: "t", payload: "1") && sent += 1 }
      rescue Kafka::ClosedProducerError
        sent
      end
    end
    sleep(0.05)
    assert @producer.close
    assert_equal threads.sum(&:value), read.size
  end

  def test_how_many_partitions
    @broker.create_topic("more", partitions: 7)
    assert_equal 7, @producer.partition_count("more")
    nobody = Kafka::Producer.new({"bootstrap.servers": "127.0.0.1:1"})
    assert_raises(Kafka::ProduceError) { nobody.partition_count("elsewhere") }
  ensure
    nobody.close(Guildhall::Clock.now)
  end

  def test_tombstones
    @producer.tombstone_sync(topic: "t", key: "k")
    @producer.tombstone_async(topic: "t", key: "k", headers: {"a" => "b"}).wait
    @producer.tombstone_many_sync([{topic: "t", key: "a"}, {topic: "t", key: "b", payload: "x"}])
    @producer.tombstone_many_async([{topic: "t", key: "c"}]).each(&:wait)
    assert_equal [nil] * 5, read
  end

  def test_a_child_has_a_client_of_its_own
    skip unless Process.respond_to?(:fork) && RUBY_VERSION >= "4"
    before = @producer.produce_async(topic: "t", payload: "parent")
    before.wait
    @producer.buffer(topic: "t", payload: "parent's")
    pid = fork { exit!(@producer.produce_sync(topic: "t", payload: "child").offset == 1 && @producer.close && !before.pending?) }
    assert_predicate Process.wait2(pid).last, :success?
    assert_equal 2, @producer.produce_sync(topic: "t", payload: "parent").offset
    @producer.flush_sync
    assert_equal ["parent", "child", "parent", "parent's"], read
  end

  def test_a_child_is_told_at_once_that_it_cannot_wait
    skip unless Process.respond_to?(:fork) && RUBY_VERSION >= "4"
    nobody = Kafka::Producer.new({"bootstrap.servers": "127.0.0.1:1"})
    delivery = nobody.produce_async(topic: "t", payload: "1")
    pid = fork do
      delivery.wait
    rescue Guildhall::TimeoutError => error
      exit!(error.message.include?("forked"))
    end
    assert_predicate Process.wait2(pid).last, :success?
  ensure
    nobody&.close(Guildhall::Clock.now)
  end
end
