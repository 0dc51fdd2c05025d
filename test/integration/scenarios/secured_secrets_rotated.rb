# frozen_string_literal: true

# broker: real
#
# Proves what a secret that changes while we run does: connections that are there go on, and each that is made anew, or has to authenticate
# again, is refused, with the broker's address and the cure; so it is with a client certificate that expires. What was produced meanwhile is
# consumed, once, by the process that starts with the new secret, and the old one stops in time.
# It starts a broker of its own, where Kafka's libraries lie beside the script that KAFKA_BROKER_CONTROL names.
require_relative "../support/scenario"
require_relative "../../support/secured_broker"

Scenario.run do
  reason = SecuredBroker.missing
  next notes << "skipped: #{reason}" if reason

  SecuredBroker.run do |broker|
    @servers = broker.address(:plain)
    client(:admin) do |admin|
      %w[alice CN=alice].product([[2, "topic-"], [3, "group-"]]).each do |user, (type, prefix)| # topic, group
        admin.create_acl(resource_type: type, resource_name: prefix, resource_pattern_type: 4, principal: "User:#{user}", host: "*",
          operation: 2, permission_type: 3).wait(max_wait_timeout_ms: 60_000) # all, allow
      end
    end
    mutual = lambda do |seconds|
      certificate, key = broker.client_certificate("alice", seconds:)
      {**broker.settings(:mutual), "ssl.certificate.location": certificate, "ssl.key.location": key}
    end
    valid = 30
    expires_at = Time.now + valid
    scram = ->(listener, password) { broker.settings(listener, user: "alice", password:) }
    # kind => settings before, settings after, what is advised in between
    kinds = {
      "password" => [scram.call(:scram, "alice-password"), -> { scram.call(:scram, "rotated") }, /sasl\.password.*a changed password only after a restart/],
      "reauthentication" => [scram.call(:reauth, "alice-password"), -> { scram.call(:reauth, "rotated") }, /sasl\.password.*a changed password only after a restart/],
      "certificate" => [mutual.call(valid), -> { mutual.call(3_600) }, /client certificate .*CN=alice.* has expired.*needs a restart/]
    }
    seen = Hash.new { |all, kind| all[kind] = Thread::Queue.new }
    told = Thread::Queue.new # of all applications: librdkafka's log goes to the one that was started last
    events = []
    topics = kinds.keys.to_h { |kind| [kind, topic] }
    open = lambda do |kind, settings|
      queue = seen[kind]
      name = topics.fetch(kind)
      Guildhall::Kafka::Application.new.tap do |application|
        application.config.kafka = {"auto.offset.reset": "earliest", "reconnect.backoff.max.ms": 500, "session.timeout.ms": 6_000, **settings}
        application.config.group_id = "#{group}-#{kind}"
        application.config.commit_interval = 0.5
        application.config.logger = nil
        application.routes.draw do
          topic(name) do
            consumer(Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { messages.each { |message| queue << message.raw_payload } } })
          end
        end
        application.instrumentation.subscribe("broker.unreachable") { |event| told << event.payload }
        application.start
      end
    end
    sent = 0
    consumed = Hash.new { |all, kind| all[kind] = [] }
    send_and_see = lambda do |some|
      payload = (sent += 1).to_s
      topics.each_value { |name| produce(name, [{payload:}]) }
      some.each { |kind| eventually("#{kind} consumes #{payload}, #{told.size} told") { consumed[kind].concat(drain(seen[kind])).include?(payload) } }
    end
    told_of = ->(kind) { events.concat(drain(told)).select { |event| event[:broker] == kinds.fetch(kind).first.fetch(:"bootstrap.servers") } }
    advised = lambda do |kind|
      found = nil
      eventually("#{kind} is told of") { found = told_of.call(kind).find { |event| event[:advice].to_s.match?(kinds[kind].last) } }
      puts found if ENV["VERBOSE"]
      check(%w[alice-password rotated].none? { |secret| found.inspect.include?(secret) }, "#{kind}: a secret in #{found}")
    ensure
      puts events if ENV["VERBOSE"] && $!
    end

    applications = kinds.to_h { |kind, (settings)| [kind, open.call(kind, settings)] }
    send_and_see.call(kinds.keys)
    broker.change_password("alice", "rotated")
    advised.call("reauthentication")
    send_and_see.call(%w[password])
    equal([], told_of.call("password"), "told of a connection that goes on")
    sleep([expires_at - Time.now + 1, 0].max)
    broker.restart
    kinds.each_key { |kind| advised.call(kind) unless kind == "reauthentication" }
    topics.each_value { |name| produce(name, [{payload: "refused"}]) }
    applications.each { |kind, application| timed { application.stop(timeout: 5) }.first.then { |took| check(took < 10, "#{kind}: stopped in #{took} s") } }

    applications = kinds.map { |kind, (_, settings)| open.call(kind, settings.call) }
    send_and_see.call(kinds.keys)
    kinds.each_key do |kind|
      eventually("#{kind}: all") { consumed[kind].concat(drain(seen[kind])).uniq.size == sent + 1 }
      # The member that was refused could not commit what it had consumed last.
      notes << "#{kind}: #{consumed[kind].size - sent - 1} again"
    end
    applications.each { |application| application.stop(timeout: 10) }
    @account = nil
  end
end
