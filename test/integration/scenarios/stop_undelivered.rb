# frozen_string_literal: true

#
# Proves that what was produced and not waited for is delivered before an application has stopped; and that with brokers
# out of reach it stops within its deadline all the same, says that something was given up, and answers false: in an
# application that consumes, in one that only produces, and in a process that simply ends.
require_relative "../support/scenario"

SCRIPT = <<~'RUBY'
  require "guildhall/kafka"
  Rdkafka::Config.logger = Logger.new($stderr, level: Logger::FATAL)
  Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }
  10.times { Guildhall::Kafka.producer.produce_async(topic: "nobody", payload: "hears this") }
RUBY

Scenario.run do
  name = topic
  consumer = accounting
  drawing = proc { topic(name) { consumer(consumer) } }
  timeout = 3 # seconds
  # Where it waits for librdkafka's own limits, that takes a minute and more.
  stopping = lambda do |what, least, limit = (timeout + 20), &block|
    took, answer = timed(&block)
    check(took.between?(least, limit), "#{what}: stopping took #{took.round(1)} s")
    notes << "#{what} #{took.round(1)} s"
    answer
  end

  configure(producer: {"linger.ms": 60_000})
  routes(&drawing)
  start
  500.times { |i| Guildhall::Kafka.producer.produce_async(topic: name, payload: i.to_s, partition: 0) }
  stop
  account.produced(0, 500)
  restart(&drawing)
  eventually_complete

  proxy = Proxy.new(servers)
  stop
  restart(servers: proxy.bootstrap_servers, &drawing)
  eventually("assigned") { Guildhall::Kafka.application.partitions.any? }
  Guildhall::Kafka.producer.produce_sync(topic: name, payload: "500", partition: 0)
  account.produced(0, 1)
  eventually_complete
  proxy.silence
  10.times { Guildhall::Kafka.producer.produce_async(topic: name, payload: "lost", partition: 0) }
  drain(errors)
  equal(false, stopping.call("consuming", 0) { Guildhall::Kafka.stop(timeout:) }, "whether all is done")
  reported = drain(errors).find { |payload| payload[:type] == "producer" }
  check(reported&.fetch(:error).is_a?(Guildhall::TimeoutError), "it was not reported")
  proxy.close

  Guildhall::Kafka.reset
  configure(servers: "127.0.0.1:1")
  10.times { Guildhall::Kafka.producer.produce_async(topic: name, payload: "lost") }
  equal(false, stopping.call("only producing", timeout - 1) { Guildhall::Kafka.stop(timeout:) }, "whether all is delivered")

  ended = stopping.call("a script", 0, Guildhall::Kafka::Application::EXIT_TIMEOUT_SECONDS + 20) { system(RbConfig.ruby, "-e", SCRIPT) }
  check(ended, "the script that only produces failed")
end
