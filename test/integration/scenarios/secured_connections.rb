# frozen_string_literal: true

# broker: real
#
# Proves that a client of a secured broker consumes (TLS, client certificates, SASL), and that each way to get its settings or the broker's
# certificate wrong is one event with the broker's address and what to do, although librdkafka has one text for several of them.
# It starts a broker of its own, where Kafka's libraries lie beside the script that KAFKA_BROKER_CONTROL names.
require_relative "../support/scenario"
require_relative "../../support/secured_broker"

Scenario.run do
  reason = SecuredBroker.missing
  next notes << "skipped: #{reason}" if reason

  SecuredBroker.run do |broker|
    @servers = broker.address(:plain)
    name = topic
    consumer = accounting
    produce_to(name, 1, 10)
    alice = broker.settings(:sasltls, user: "alice")
    certificate, key = broker.client_certificate("alice")
    mutual = {**broker.settings(:mutual), "ssl.certificate.location": certificate, "ssl.key.location": key}
    client(:admin) do |admin|
      [%w[alice], ["CN=alice"], %w[ANONYMOUS]].flatten.each do |user|
        [[2, name], [3, "group-"]].each do |type, prefix| # topic, group
          admin.create_acl(resource_type: type, resource_name: prefix, resource_pattern_type: 4, principal: "User:#{user}", host: "*",
            operation: 2, permission_type: 3).wait(max_wait_timeout_ms: 60_000) # all, allow
        end
      end
    end
    events = Thread::Queue.new
    run = lambda do |settings, group, &wait|
      Guildhall::Kafka.reset
      Guildhall::Kafka.configure do |config|
        config.kafka = {"auto.offset.reset": "earliest", "reconnect.backoff.max.ms": 500, **settings}
        config.group_id = "group-#{group}"
        config.shutdown_timeout = 10
      end
      Guildhall::Kafka.routes { topic(name) { consumer(consumer) } }
      drain(events)
      Guildhall::Kafka.instrumentation.subscribe("broker.unreachable") { |event| events << event.payload }
      start
      wait.call
    ensure
      Guildhall::Kafka.stop(timeout: 5)
    end

    {tls: broker.settings(:tls), mutual:, sasl: broker.settings(:sasl, user: "alice"), sasltls: alice}.each do |kind, settings|
      run.call(settings, kind) { eventually("consumed with #{kind}") { Guildhall::Kafka.application.partitions.any? { |one| one.lag.eql?(0) && one.read_to == 10 } } }
      check(events.empty?, "#{kind}: #{drain(events)}")
    end

    # what is wrong => settings, what the advice says
    wrong = {
      "an expired certificate": [broker.settings(:expired), /certificate of CN=broker has expired/],
      "a certificate for another name": [broker.settings(:misnamed), /certificate is for elsewhere\.example, not for 127\.0\.0\.1/],
      "another authority": [broker.settings(:tls).merge("ssl.ca.location": broker.foreign_authority), /issued by CN=authority, which ssl\.ca\.location/],
      "a plaintext client at a TLS port": [{"bootstrap.servers": broker.address(:tls)}, /its port \d+ speaks TLS/],
      "a TLS client at a plaintext port": [broker.settings(:tls).merge("bootstrap.servers": broker.address(:plain)), /its port \d+ does not speak TLS/],
      "a wrong password": [broker.settings(:sasltls, user: "alice", password: "no-password"), /check sasl\.mechanism, and sasl\.username with sasl\.password/],
      "a mechanism that the broker has not": [alice.merge("sasl.mechanism": "SCRAM-SHA-256"), /set sasl\.mechanism to one that the brokers offer/],
      "a client without SASL": [{"bootstrap.servers": broker.address(:sasl)}, /check security\.protocol/],
      "no client certificate": [broker.settings(:mutual), /wants a client certificate that it trusts/]
    }
    wrong.each do |what, (settings, advice)|
      found = nil
      run.call(settings, "wrong") { eventually("#{what}: an event with #{advice.inspect}", 30) { (found = drain(events).first) || false } }
      puts "#{what}: #{found}" if ENV["VERBOSE"]
      equal(settings[:"bootstrap.servers"], found[:broker], "#{what}: the broker")
      check(found[:advice].to_s.match?(advice), "#{what}: #{found}")
      check(!found.inspect.include?("no-password"), "#{what}: the password is in the event")
    end

    notes << "#{wrong.size} mistakes"
    @account = nil
  end
end
