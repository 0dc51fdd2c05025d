# frozen_string_literal: true

# broker: real
#
# Proves that `guildhall check` finds what is wrong between an application and its cluster, step by step, names the step, and finds nothing
# where nothing is wrong: names, ports, certificates, credentials, rights, topics, groups, transactional ids.
# It starts a broker of its own, where Kafka's libraries lie beside the script that KAFKA_BROKER_CONTROL names.
require_relative "../support/scenario"
require_relative "../../support/secured_broker"
require "guildhall/kafka/admin/check"

Scenario.run do
  reason = SecuredBroker.missing
  next notes << "skipped: #{reason}" if reason

  SecuredBroker.run do |broker|
    @servers = broker.address(:plain)
    orders, dead, payments, missing = Array.new(4) { |number| "#{%w[orders dead payments missing][number]}-#{@id}" }
    client(:admin) do |admin|
      [[orders, {"retention.ms": "1000"}], [dead, {"max.message.bytes": "1000", "cleanup.policy": "compact"}],
       [payments, {}], ["#{payments}.#{group}.retry.600", {"retention.ms": "700000"}]].each do |name, settings|
        admin.create_topic(name, 1, 1, settings).wait(max_wait_timeout_ms: 60_000)
      end
    end
    acl = lambda do |action, type, resource, operation|
      client(:admin) do |admin|
        admin.public_send(:"#{action}_acl", resource_type: type, resource_name: resource, resource_pattern_type: 3, principal: "User:alice", host: "*",
          operation:, permission_type: 3).wait(max_wait_timeout_ms: 60_000)
      end
    end
    all = 2 # as librdkafka counts them
    of_topic = 2
    of_group = read = 3
    write = 4
    describe = 8
    consumer = accounting
    findings = lambda do |settings, &drawn|
      Guildhall::Kafka.reset
      configure(librdkafka: settings)
      routes(&drawn) if drawn
      topics = drawn ? Guildhall::Kafka.application.validate! : []
      Guildhall::Kafka::Admin::Check.new(Guildhall::Kafka.application, topics).run.group_by(&:area)
    end
    problems = ->(found) { found.values.flatten.select { |finding| finding.status == :problem }.map { |finding| "#{finding.name}: #{finding.text}" } }
    first = ->(settings) { problems.call(findings.call(settings)).first.to_s }

    # The way to the login: each step, and what it says.
    certificate = broker.settings(:tls)
    {
      "a name" => [{"bootstrap.servers": "nowhere.invalid:9092"}, /\Anowhere.invalid:9092: DNS: the name nowhere.invalid cannot be resolved/],
      "a port" => [{"bootstrap.servers": "127.0.0.1:1"}, /TCP: connection refused/],
      "an expired certificate" => [broker.settings(:expired), /TLS: the certificate of CN=broker has expired/],
      "another name" => [broker.settings(:misnamed), /TLS: its certificate is for elsewhere\.example/],
      "another authority" => [{**certificate, "ssl.ca.location": broker.foreign_authority}, /TLS: its certificate was issued by CN=authority/],
      "no TLS" => [{"bootstrap.servers": broker.address(:tls)}, /TLS: its port \d+ speaks TLS/],
      "a wrong password" => [broker.settings(:sasltls, user: "alice", password: "wrong-word"), /\Alogin: .*refuses the credentials/]
    }.each { |what, (settings, expected)| check(first.call(settings).match?(expected), "#{what}: #{first.call(settings)}") }
    check(!first.call(broker.settings(:sasltls, user: "alice", password: "wrong-word")).include?("wrong-word"), "a password is printed")
    found = findings.call(certificate)
    equal([], problems.call(found), "TLS")
    check(found.fetch("brokers").first.text.include?("its certificate holds until"), "the certificate: #{found}")
    equal(:warning, found.fetch("brokers").first.status, "a certificate that ends tomorrow")

    # Topics, groups and transactional ids, with every right.
    plain = {"bootstrap.servers": @servers}
    found = findings.call(plain) do
      topic(orders) do
        consumer(consumer)
        dead_letter_queue(topic: dead)
      end
      topic(payments) do
        consumer(consumer)
        retry_topics(600)
        dead_letter_queue(topic: dead)
        transactional(true)
      end
      topic(missing) { consumer(consumer) }
    end
    text = ->(name) { found.fetch("topics").select { |finding| finding.name == name }.map { |finding| [finding.status, finding.text] } }
    equal([[:ok, "1 partition, 1 replica, kept for 1 seconds, its payloads are Strings: no route has a deserializer"]], text.call(orders), orders)
    equal(%i[problem warning], text.call(dead).map(&:first), dead)
    check(text.call(dead).join.match?(/takes messages of 1000 bytes at most.*cleanup\.policy is compact/), text.call(dead).to_s)
    equal([[:problem, "does not exist"]], text.call(missing), missing)
    equal("guildhall topics create #{missing} --partitions N", found.fetch("topics").find { |finding| finding.name == missing }.cure, "its cure")
    check(text.call("#{payments}.#{group}.retry.600").to_s.include?("raise retention.ms to 1200000"), found.fetch("topics").to_s)
    equal([[:ok, "0 members"]], found.fetch("groups").map { |finding| [finding.status, finding.text] }, "the group")
    equal(%i[ok ok], found.fetch("transactions").map(&:status), "transactions: #{found["transactions"]}")

    # Topics that are not as routes declare them, each with its cure.
    found = findings.call(plain) do
      topic(orders) do
        consumer(consumer)
        config(partitions: 2, "retention.ms": 1_000)
      end
      topic(payments) do
        consumer(consumer)
        config(replicas: 2)
      end
      topic(missing) do
        consumer(consumer)
        config(partitions: 2)
      end
    end
    drift = found.fetch("topics").to_h { |finding| [finding.name, [finding.status, finding.text[/\A[^(]+/].strip, finding.cure]] }
    equal({orders => [:warning, "partitions is 1, and the routes declare 2", "guildhall topics apply"],
           payments => [:warning, "replicas is 1, and the routes declare 2", nil],
           missing => [:problem, "does not exist", "guildhall topics apply"]}, drift, "drift")

    # Messages from the future, and those that were deleted before the group has consumed them.
    produce(payments, [{payload: "1", timestamp: Time.now + 3_600}])
    drawn = proc { topic(payments) { consumer(consumer) } }
    found = findings.call(plain, &drawn)
    check(text.call(payments).to_s.include?("dated later than now"), text.call(payments).to_s)

    # Messages that a new group skips: until the route says that this is meant, or something is committed.
    of_groups = ->(&routes) { findings.call({**plain, "auto.offset.reset": "latest"}, &routes).fetch("groups").map { |finding| [finding.status, finding.text[/\A[^;]+/]] } }
    skipped = [[:warning, "nothing is committed for #{payments}: the group begins at the end, and skips 1 message"]]
    equal(skipped, of_groups.call(&drawn), "a new group")
    %i[earliest latest].each do |place|
      said = of_groups.call do
        topic(payments) do
          consumer(consumer)
          initial_offset(place)
        end
      end
      equal([[:ok, "0 members"]], said, "initial_offset #{place.inspect}")
    end
    Guildhall::Kafka.admin { |admin| admin.offsets.apply(admin.offsets.plan(group, to: :latest, topics: [payments], create: true)) }
    equal([[:ok, "0 members"]], of_groups.call(&drawn), "a group that has committed")

    # Rights.
    alice = broker.settings(:sasl, user: "alice")
    drawn = proc do
      topic(orders) do
        consumer(consumer)
        serializer(Guildhall::JSON)
        transactional(true)
      end
    end
    said = -> { problems.call(findings.call(alice, &drawn)).join("\n") }
    check((answer = said.call).match?(/#{orders}: may not be described: grant DESCRIBE/), answer)
    acl.call(:create, of_topic, orders, describe)
    answer = said.call
    check(answer.match?(/#{group}: may not be (described|joined): grant READ on it/), answer)
    check(answer.include?("may not be consumed, nor written to: grant READ, WRITE on it"), answer)
    acl.call(:create, of_topic, orders, read)
    check((answer = said.call).match?(/#{orders}: may not be written to: grant WRITE on it/), answer)
    acl.call(:create, of_topic, orders, write)
    acl.call(:create, of_group, group, read)
    check((answer = said.call).match?(%r{\A#{group}/#{orders}/: .*TRANSACTIONAL_ID|grant the user WRITE and DESCRIBE on the transactional id}i), answer)
    acl.call(:create, 5, "#{group}/#{orders}/guildhall.check", all)
    equal("", said.call, "with all rights")
  end
end
