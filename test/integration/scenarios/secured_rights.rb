# frozen_string_literal: true

# broker: real
#
# Proves what is seen of rights that are missing: the error names the topic or the group; a partition that may not be read does not make its
# group rebalance, its lag is not known, and it is read once the right was granted. A member that loses the right on its group joins
# again once it has it back.
# It starts a broker of its own, where Kafka's libraries lie beside the script that KAFKA_BROKER_CONTROL names.
require_relative "../support/scenario"
require_relative "../../support/secured_broker"

Scenario.run do
  reason = SecuredBroker.missing
  next notes << "skipped: #{reason}" if reason

  SecuredBroker.run do |broker|
    @servers = broker.address(:plain)
    name = topic
    acl = lambda do |action, type, resource, operation|
      client(:admin) do |admin|
        admin.public_send(:"#{action}_acl", resource_type: type, resource_name: resource, resource_pattern_type: 3, principal: "User:alice", host: "*",
          operation:, permission_type: 3).wait(max_wait_timeout_ms: 60_000)
      end
    end
    of_topic = 2 # as librdkafka counts them
    of_group = read = 3
    describe = 8
    acl.call(:create, of_topic, name, describe)
    consumer = accounting
    produce_to(name, 1, 10)
    configure(librdkafka: broker.settings(:sasl, user: "alice"), stall_timeout: 6, lag_interval: 0.2)
    routes { topic(name) { consumer(consumer) } }
    seen = Thread::Queue.new
    Guildhall::Kafka.instrumentation.subscribe { |event| seen << event }
    start
    named = ->(text, **place) { errors.size.times.any? { (found = errors.pop) && found[:error].message.match?(text) && place.all? { |key, value| found[key] == value } } }
    eventually("the right on the group is missing") { named.call(/GROUP_AUTHORIZATION_FAILED.*grant READ on group #{group}/, group:) }
    acl.call(:create, of_group, group, read)
    eventually("the right on the topic is missing") { named.call(/TOPIC_AUTHORIZATION_FAILED.*grant READ on topic #{name}/, group:, topic: name, partition: 0) }
    drain(seen)
    2.times { eventually("it is said again") { named.call(/TOPIC_AUTHORIZATION_FAILED/, topic: name, partition: 0) } }
    happened = drain(seen)
    rebalances = happened.map(&:name).select { |event| event.start_with?("rebalance.", "partition.stalled") }
    equal([], rebalances, "what happened to the group")
    lags = happened.select { |event| event.name == "lag.measured" }
    check(lags.any? && lags.all? { |event| event.payload[:partitions].empty? && event.payload[:unknown] == [{topic: name, partition: 0, group:}] },
      "lag: #{lags.map(&:payload).uniq.inspect}")
    acl.call(:create, of_topic, name, read)
    eventually_complete
    eventually("lag is known") { (drain(seen).reverse.find { |event| event.name == "lag.measured" }&.payload || {})[:partitions]&.any? }
    drain(errors)
    acl.call(:delete, of_group, group, read)
    eventually("the right on the group was taken away") { named.call(/GROUP_AUTHORIZATION_FAILED.*grant READ on group #{group}/, group:) }
    produce_to(name, 1, 10)
    acl.call(:create, of_group, group, read)
    eventually_complete
    equal(nil, Guildhall::Kafka.application.failure, "failure")
    drain(errors)
    stop
  end
end
