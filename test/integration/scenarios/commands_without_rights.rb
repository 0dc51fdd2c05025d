# frozen_string_literal: true

# broker: real
#
# Proves that commands disturb nothing where a right is missing: consuming goes on, and one line says what to grant; that they are taken once
# it was granted, without a restart; that a missing right to tell what became of them keeps none from being carried out, and is named; and
# that an outage of the brokers ends nothing.
# It starts a broker of its own, where Kafka's libraries lie beside the script that KAFKA_BROKER_CONTROL names.
require "guildhall/kafka/commanding/commander"
require_relative "../support/scenario"
require_relative "../../support/secured_broker"

Scenario.run do
  reason = SecuredBroker.missing
  next notes << "skipped: #{reason}" if reason

  SecuredBroker.run do |broker|
    @servers = broker.address(:plain)
    commanding = Guildhall::Kafka::Commanding
    private_key, public_key = commanding::Keys.generate
    name = topic
    own = "commands-#{group}"
    grant = lambda do |resource, operation, type = 2|
      client(:admin) do |admin|
        admin.create_acl(resource_type: type, resource_name: resource, resource_pattern_type: 3, principal: "User:alice", host: "*",
          operation:, permission_type: 3).wait(max_wait_timeout_ms: 60_000)
      end
    end
    read = 3
    write = 4
    create = 5 # as librdkafka counts them
    grant.call(name, read)
    grant.call(group, read, 3)
    produce_to(name, 1, 10)
    consumer = accounting
    configure(librdkafka: broker.settings(:sasl, user: "alice"), commands: {public_key:, topic: own})
    routes { topic(name) { consumer(consumer) } }
    said = Thread::Queue.new
    Guildhall::Kafka.instrumentation.subscribe("error.occurred") do |event|
      said << event.payload[:error].message if event.payload[:type] == "commands"
    end
    start
    eventually_complete
    eventually("it is said") { said.size.positive? }
    sleep(4) # three more tries
    messages = drain(said)
    equal(1, messages.size, "once: #{messages}")
    check(messages.first.include?("grant READ on topic #{own}, and CREATE where it does not exist yet"), messages.first)
    grant.call(own, read)
    eventually("the right to create it is missing", 90) { drain(said).any? { |text| text.include?("guildhall topics create #{own} --partitions 1 --config cleanup.policy=delete") } }
    grant.call(own, create)
    commander = Guildhall::Kafka::Commanding::Commander.new({"bootstrap.servers": @servers}, private_key:, topic: own)
    target = {group:, topic: name, partition: 0}
    partition = Guildhall::Kafka.application.partitions.first
    paused = -> { partition.snapshot.rests.key?(:command) }
    eventually("a command is carried out", 90) do
      commander.issue(:pause, target, args: {seconds: 600}, by: "ada", why: "to see", wait: nil)
      sleep(0.5)
      paused.call
    end
    eventually("that it cannot be told is said") { drain(said).any? { |text| text.include?("guildhall.reports") && text.match?(/grant/) } }
    grant.call("guildhall.reports", write)
    grant.call("guildhall.reports", create)
    eventually("it is told", 90) { commander.issue(:retry, target, by: "ada", why: "to see", wait: 2).done? }

    broker.restart
    eventually("after an outage", 90) do
      commander.issue(:resume, target, by: "ada", why: "to see", wait: nil)
      sleep(0.5)
      !paused.call
    rescue Guildhall::Kafka::KafkaError
      nil # the broker does not answer yet
    end
    produce_to(name, 1, 10)
    eventually_complete
    drain(errors)
    stop
  end
end
