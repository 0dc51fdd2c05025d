# frozen_string_literal: true

# broker: real
#
# Proves that a retry topic that could not be created at the start, because a right was missing, is created once it may be, and consumed then,
# without a restart; and that `stop` does not wait for further tries.
require_relative "../support/scenario"

# What the broker answers while the right is missing.
module Refusing
  class << self
    attr_accessor :times
  end
  TOPIC_AUTHORIZATION_FAILED = 29

  private

  def request(admin, name, *arguments)
    return super if Refusing.times.zero?

    Refusing.times -= 1
    Rdkafka::RdkafkaError.new(TOPIC_AUTHORIZATION_FAILED, broker_message: "Authorization failed.")
  end
end
Guildhall::Kafka::Broker::TopicCreation.prepend(Refusing)

Scenario.run do
  name = topic
  seen = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      messages.each do |message|
        raise "on purpose" if message.topic == name

        seen << message.topic
        mark_as_consumed(message)
      end
    end
  end
  drawing = proc do
    topic(name) do
      consumer consumer
      retry_topics 1
      dead_letter_queue topic: "#{name}.dead", max_retries: 0
    end
  end
  configure
  routes(&drawing)
  refusals = Thread::Queue.new
  watch = lambda do
    Guildhall::Kafka.instrumentation.subscribe("error.occurred") do |event|
      refusals << event.payload if event.payload[:type] == "topic_creation"
    end
  end
  watch.call
  Refusing.times = 2
  start
  2.times do
    refusal = refusals.pop(timeout: 60)
    check(refusal[:error].is_a?(Guildhall::Kafka::AuthorizationError), refusal[:error].inspect)
    check(refusal[:error].message.include?("grant CREATE on topic"), refusal[:error].message)
  end
  retries = "#{name}.#{group}.retry.1"
  eventually("the topic is there, and assigned") { Guildhall::Kafka.application.partitions.any? { |one| one.name == retries } }
  produce(name, [{payload: "x"}])
  equal(retries, seen.pop(timeout: 60), "where it was retried")
  stop

  Guildhall::Kafka.reset
  name = topic
  configure
  routes(&drawing)
  watch.call
  Refusing.times = 1_000
  start
  3.times { refusals.pop(timeout: 60) } # the next try is seconds away
  equal(true, Guildhall::Kafka.stop, "a stop in between")
end
