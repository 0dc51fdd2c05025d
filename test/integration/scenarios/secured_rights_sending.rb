# frozen_string_literal: true

# broker: real
#
# Proves what is said of rights that are missing to send messages on: to create a retry topic, to write to it and to dead letters, to a
# transactional id, and to a topic within a transaction. Each error names the resource and the operation; nothing is lost meanwhile, no
# attempt is counted, and work goes on without a restart when the right was granted.
# It starts a broker of its own, where Kafka's libraries lie beside the script that KAFKA_BROKER_CONTROL names.
require_relative "../support/scenario"
require_relative "../../support/secured_broker"

Scenario.run do
  reason = SecuredBroker.missing
  next notes << "skipped: #{reason}" if reason

  SecuredBroker.run do |broker|
    @servers = broker.address(:plain)
    orders, paid, results, dead = %w[orders paid results dead].map { |name| topic(name:) }
    retries = "#{orders}.#{group}.retry.0.2"
    operations = {"READ" => 3, "WRITE" => 4, "CREATE" => 5, "DESCRIBE" => 8}
    resources = {topic: 2, group: 3, transactional_id: 5}
    grant = lambda do |type, name, operation|
      client(:admin) do |admin|
        admin.create_acl(resource_type: resources.fetch(type), resource_name: name, resource_pattern_type: 3, principal: "User:alice", host: "*",
          operation: operations.fetch(operation), permission_type: 3).wait(max_wait_timeout_ms: 60_000)
      end
    end
    count = lambda do |name|
      found = client(:consumer, "group.id": "look") { |consumer| consumer.query_watermark_offsets(name, 0, 5_000) }
      found.last - found.first
    end
    [[:group, group, "READ"], [:topic, orders, "READ"], [:topic, paid, "READ"], [:topic, results, "DESCRIBE"]].each { |one| grant.call(*one) }

    attempts = Thread::Queue.new
    failing = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) { messages.each { |message| attempts << message.offset && raise("bad") } }
    end
    forwarding = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        transaction do
          produce_sync(topic: results, payload: "p")
          mark_as_consumed(messages.last)
        end
      end
    end
    configure(librdkafka: {**broker.settings(:sasl, user: "alice"), "topic.metadata.refresh.interval.ms": 2_000, "transaction.timeout.ms": 10_000},
      pause_timeout: 0.5, pause_max_timeout: 2)
    routes do
      topic(orders) do
        consumer failing
        retry_topics 0.2
        dead_letter_queue topic: dead
      end
      topic(paid) do
        consumer forwarding
        transactional
      end
    end
    said = []
    named = lambda do |pattern|
      eventually("said: #{pattern.inspect} in #{said.last(3)}") do
        said.concat(drain(errors).map { |payload| "#{payload[:error].class}: #{payload[:error].message}" })
        said.any?(pattern)
      end
      puts said if ENV["VERBOSE"]
      said.clear
    end
    produce(orders, [{payload: "1"}])
    produce(paid, [{payload: "1"}])
    start

    # Not even its name may be asked for: with the consumer protocol that concerns the whole group.
    named.call(/TOPIC_AUTHORIZATION_FAILED: .*grant READ on each topic of group #{group}:/)
    grant.call(:topic, retries, "DESCRIBE")
    named.call(/topic #{retries} was not created: .*; grant CREATE on topic #{retries}, or on the cluster/)
    named.call(%r{TransactionError: .*; grant WRITE and DESCRIBE on transactional id #{group}/#{paid}/0})
    grant.call(:transactional_id, "#{group}/#{paid}/0", "WRITE")
    named.call(/TransactionError: .*grant WRITE and DESCRIBE on topic #{results}/)
    equal(0, count.call(results), "sent without the right")
    grant.call(:topic, results, "WRITE")
    eventually("the transaction") { count.call(results).positive? }

    %w[CREATE READ].each { |operation| grant.call(:topic, retries, operation) }
    named.call(/DeadLetterError: .*grant WRITE and DESCRIBE on topic #{retries}/)
    grant.call(:topic, retries, "WRITE")
    named.call(/DeadLetterError: .*grant WRITE and DESCRIBE on topic #{dead}/)
    grant.call(:topic, dead, "WRITE")
    eventually("the dead letter") { count.call(dead) == 1 }
    # One of the topic, one of its retry topic; that topic makes the group rebalance when it comes, and the next owner begins anew.
    check(attempts.size.between?(2, 4), "attempts: #{attempts.size}")
    drain(errors)
    stop
    @account = nil
  end
end
