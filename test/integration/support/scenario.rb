# frozen_string_literal: true

# What every scenario needs: a broker (the one KAFKA_BOOTSTRAP_SERVERS names, else one in this process), topics that
# nobody else uses, and an application on them. The process ends with status 1 when a check fails.
$VERBOSE = true
require_relative "../../support/warnings_raise"
require "guildhall/kafka"
require "guildhall/kafka/embedded_broker"
require "guildhall/json"
require "securerandom"

# One scenario in a process of its own.
class Scenario
  LIMIT = 60 # seconds
  # With the embedded broker, a group takes a session time-out to begin anew after a member has left.
  QUICK = {"session.timeout.ms": 2_000, "heartbeat.interval.ms": 200}.freeze

  class Failed < StandardError; end

  def self.run(&)
    Rdkafka::Config.logger = Logger.new($stderr, level: Logger::FATAL)
    scenario = new
    scenario.instance_eval(&)
    puts "ok #{scenario.notes.join(", ")}"
  ensure
    scenario&.finish
  end

  attr_reader :notes, :errors, :servers, :embedded

  def initialize
    @embedded = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "").empty? ? Guildhall::Kafka::EmbeddedBroker.start : nil
    @servers = @embedded ? @embedded.bootstrap_servers : ENV.fetch("KAFKA_BOOTSTRAP_SERVERS")
    @id = SecureRandom.hex(4)
    @notes = []
    @errors = Thread::Queue.new
  end

  def group
    "group-#{@id}"
  end

  # @return [String] the name of a new topic
  def topic(partitions: 1, name: "topic")
    name = "#{name}-#{@id}-#{SecureRandom.hex(2)}"
    if @embedded
      @embedded.create_topic(name, partitions:)
    else
      client(:admin) { |admin| admin.create_topic(name, partitions, 1).wait(max_wait_timeout_ms: 15_000) }
    end
    name
  end

  # @param messages [Enumerable<Hash>] payload:, key:, partition:, headers:
  def produce(name, messages)
    client(:producer, "linger.ms": 5_000) do |producer| # until flushed, so that a partition's messages travel together
      handles = messages.map { |message| producer.produce(topic: name, **message) }
      producer.flush(30_000)
      handles.each { |handle| handle.wait(max_wait_timeout_ms: 30_000) }
    end
  end

  def configure(**settings)
    Guildhall::Kafka.configure do |config|
      config.kafka = {"bootstrap.servers": @servers, "auto.offset.reset": "earliest", **(@embedded ? QUICK : {})}
      config.group_id = group
      config.reader = ENV.fetch("READER", "native").to_sym
      config.pause_timeout = 0.05
      config.shutdown_timeout = 20
      settings.each { |name, value| config.public_send("#{name}=", value) }
    end
    errors = @errors
    Guildhall::Kafka.instrumentation.subscribe("error.occurred") { |event| errors << event.payload }
  end

  def routes(&)
    Guildhall::Kafka.routes(&)
  end

  def start
    Guildhall::Kafka.start
  end

  def stop(timeout: 20)
    check(Guildhall::Kafka.stop(timeout:), "not all work was finished within #{timeout} s")
  end

  # Anew, as after the process was started again.
  def restart(**settings, &)
    Guildhall::Kafka.reset
    configure(**settings)
    routes(&)
    start
  end

  # @return [Array<Integer, nil>] per partition the offset that the group has committed
  def committed(name, partitions: 1, group: self.group)
    client(:consumer, "group.id": group) do |consumer|
      list = Rdkafka::Consumer::TopicPartitionList.new
      list.add_topic(name, partitions)
      consumer.committed(list, 10_000).to_h.fetch(name).map(&:offset)
    end
  end

  def eventually(what, seconds = LIMIT)
    limit = now + seconds
    until yield
      raise Failed, "not within #{seconds} s: #{what}; errors: #{drain(@errors).last(3).inspect}" if now > limit

      sleep(0.01)
    end
  end

  def drain(queue)
    Array.new(queue.size) { queue.pop }
  end

  def check(condition, message)
    raise Failed, message unless condition
  end

  def equal(expected, actual, what)
    raise Failed, "#{what}: expected #{expected.inspect}, got #{actual.inspect}" unless expected == actual
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  def client(kind, **settings)
    client = Rdkafka::Config.new({"bootstrap.servers": @servers, **settings}).public_send(kind)
    yield(client)
  ensure
    client&.close
  end

  def finish
    Guildhall::Kafka.stop(timeout: 5) if Guildhall::Kafka.application.running?
    @embedded&.stop
  end
end
