# frozen_string_literal: true

# broker: real
#
# Proves that a topic which the group may not even describe holds up itself alone, with `group_protocol :auto` as with `:classic`, although
# brokers refuse members of the consumer protocol altogether then; and that it is consumed once the right was granted.
# It starts a broker of its own, where Kafka's libraries lie beside the script that KAFKA_BROKER_CONTROL names.
require_relative "../support/scenario"
require_relative "../../support/secured_broker"

OF_TOPIC = 2 # as librdkafka counts them
OF_GROUP = READ = 3

Scenario.run do
  reason = SecuredBroker.missing
  next notes << "skipped: #{reason}" if reason

  SecuredBroker.run do |broker|
    @servers = broker.address(:plain)
    allowed, denied = Array.new(2) { topic }
    grant = lambda do |type, resource|
      client(:admin) do |admin|
        admin.create_acl(resource_type: type, resource_name: resource, resource_pattern_type: 3, principal: "User:alice", host: "*", operation: READ,
          permission_type: 3).wait(max_wait_timeout_ms: 60_000)
      end
    end
    grant.call(OF_TOPIC, allowed)
    grant.call(OF_GROUP, group)
    configure(librdkafka: {**broker.settings(:sasl, user: "alice"), "topic.metadata.refresh.interval.ms": 3_000})
    [allowed, denied].each { |name| produce(name, Array.new(5) { |number| {payload: number.to_s, partition: 0} }) }
    seen = Thread::Queue.new
    Guildhall::Kafka.instrumentation.subscribe("protocol.refused") { |event| seen << event.payload }
    handled = Thread::Queue.new
    consumer = Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { messages.each { |message| handled << message.topic } } }
    routes { [allowed, denied].each { |name| topic(name) { consumer(consumer) } } }
    start
    done = []
    eventually("the topic that may be read is consumed") { done.concat(drain(handled)).count(allowed) >= 5 }
    equal([{group:, reason: "TOPIC_AUTHORIZATION_FAILED"}], drain(seen), "said")
    said = []
    eventually("the topic is named: #{said}") { said.concat(drain(errors).map { |error| error[:error].message }).any? { |text| text.include?("grant READ on topic #{denied}") } }
    check(said.first.include?("grant READ on each topic of group #{group}"), "the error says what to do: #{said}")
    grant.call(OF_TOPIC, denied)
    eventually("the other one is consumed once it may be read") { done.concat(drain(handled)).count(denied) >= 5 }
    drain(errors)
    stop
  end
end
