# frozen_string_literal: true

# broker: real
#
# Proves that each of our clients works on each kind of secured listener, with no other rights than `guildhall routes --acls` has printed for
# the routes: consumers, also of a pattern, the producer, transactions, retry and delay topics, dead letters, a schedule, Active Job, the
# iterator, lag and keys, and the commands. One of the kinds is an application at Heroku: certificates and key are text in the environment.
# It starts a broker of its own, where Kafka's libraries lie beside the script that KAFKA_BROKER_CONTROL names.
require_relative "../support/scenario"
require_relative "../../support/secured_broker"
require "json"
require "tempfile"

APPLICATION = <<~'RUBY'
  require "guildhall/kafka"
  require "guildhall/json"
  require "active_job"
  require "guildhall/kafka/active_job"

  SEEN = Thread::Queue.new unless defined?(SEEN)
  class SecuredConsumer < Guildhall::Kafka::Consumer
    def consume
      messages.each do |message|
        raise "bad" if message.raw_payload == "bad"
        SEEN << [message.topic[/\A[^.]+/], message.raw_payload]
      end
    end
  end
  class SecuredTransaction < Guildhall::Kafka::Consumer
    def consume
      transaction do
        produce_sync(topic: "#{ENV.fetch("GROUP")}-results", payload: {"of" => messages.first.raw_payload})
        mark_as_consumed(messages.last)
      end
    end
  end
  class SecuredJob < ActiveJob::Base
    self.queue_adapter = :guildhall
    queue_as "#{ENV.fetch("GROUP")}-jobs"
    def perform(text) = SEEN << ["job", text]
  end

  Guildhall::Kafka.configure do |config|
    config.kafka =
      if ENV.key?("KAFKA_URL")
        {"bootstrap.servers": ENV.fetch("KAFKA_URL").gsub("kafka+ssl://", ""), "security.protocol": "ssl",
         "ssl.ca.pem": ENV.fetch("KAFKA_TRUSTED_CERT"), "ssl.certificate.pem": ENV.fetch("KAFKA_CLIENT_CERT"),
         "ssl.key.pem": ENV.fetch("KAFKA_CLIENT_CERT_KEY"), "ssl.endpoint.identification.algorithm": "none"}
      else JSON.parse(ENV.fetch("SETTINGS"))
      end
    config.kafka = {"auto.offset.reset": "earliest", "topic.metadata.refresh.interval.ms": 2_000, **config.kafka.transform_keys(&:to_sym)}
    config.group_id = ENV.fetch("GROUP")
    config.pause_timeout = 0.1
    config.shutdown_timeout = 10
    config.logger = nil
  end
  Guildhall::Kafka.routes do
    group = ENV.fetch("GROUP")
    topic("#{group}-orders") do
      consumer SecuredConsumer
      retry_topics 0.2
      dead_letter_queue topic: "#{group}-dead", max_retries: 0
    end
    topic("#{group}-keyed") do
      consumer SecuredConsumer
      ordering :key
    end
    topic("#{group}-paid") do
      consumer SecuredTransaction
      transactional
    end
    topic("#{group}-results") do
      consumer SecuredConsumer
      serializer Guildhall::JSON
    end
    consumer_group("#{group}-others") { pattern(/\A#{Regexp.escape(group)}-events-\w+\z/) { consumer SecuredConsumer } }
    active_job_topic "#{group}-jobs"
    schedule { task("tick", "* * * * * *") { SEEN << ["tick", "1"] } }
  end
RUBY

Scenario.run do
  reason = SecuredBroker.missing
  next notes << "skipped: #{reason}" if reason

  SecuredBroker.run do |broker|
    @servers = broker.address(:plain)
    file = Tempfile.create(["application", ".rb"]).tap { |one| one.write(APPLICATION) && one.close }
    alice = ->(listener, **more) { {"SETTINGS" => JSON.generate(broker.settings(listener, user: "alice", **more))} }
    # kind => environment, principal
    kinds = {
      "heroku" => [broker.heroku("heroku"), "User:CN=heroku"],
      "plain" => [alice.call(:sasltls), nil],
      "scram256" => [alice.call(:scram, mechanism: "SCRAM-SHA-256"), nil],
      "scram512" => [alice.call(:scram), nil]
    }
    command = lambda do |environment, *arguments|
      out, err, status = guildhall(*arguments, "-r", file.path, env: environment)
      check(status.success?, "#{environment["GROUP"]}: #{arguments.join(" ")}: #{out}#{err}")
      out
    end
    tools = Dir.mktmpdir
    File.write(File.join(tools, "kafka-acls.sh"), "#!/bin/sh\nprintf '%s\\0' \"$@\"; echo\n", perm: 0o755)
    # As a shell reads what was printed.
    grants = lambda do |printed|
      out, err, status = run_command(["sh", "-ec", printed], env: {"PATH" => "#{tools}:#{ENV.fetch("PATH")}"})
      check(status.success?, err)
      out.lines.map { |line| line.chomp.split("\0") }
    end
    grant = lambda do |arguments|
      value = ->(name) { (index = arguments.index(name)) && arguments[index + 1] }
      type = {"--topic" => 2, "--group" => 3, "--transactional-id" => 5}.find { |name, _| arguments.include?(name) }
      arguments.each_cons(2) do |name, operation|
        next unless name == "--operation"

        client(:admin) do |admin|
          admin.create_acl(resource_type: type ? type.last : 4, resource_name: type ? value.call(type.first) : "kafka-cluster",
            resource_pattern_type: arguments.include?("prefixed") ? 4 : 3, principal: value.call("--allow-principal"), host: "*",
            operation: {"READ" => 3, "WRITE" => 4, "CREATE" => 5, "DESCRIBE" => 8, "DESCRIBE_CONFIGS" => 10}.fetch(operation),
            permission_type: 3).wait(max_wait_timeout_ms: 60_000)
        end
      end
    end

    kinds.each do |kind, (environment, principal)|
      group = "#{self.group}-#{kind}"
      environment = environment.merge("GROUP" => group)
      client(:admin) { |admin| %w[orders keyed paid results dead events-a jobs].each { |one| admin.create_topic("#{group}-#{one}", 1, 1).wait } }
      printed = command.call(environment, "routes", "--acls", *(["--principal", principal] if principal))
      stages = printed.split(/^(?=# )/).to_h { |stage| [stage[/\A# (?:to run|for the commands|so that)/], grants.call(stage)] }
      check(stages.fetch("# to run").size > 15, printed)
      stages.fetch("# to run").each(&grant)

      Guildhall::Kafka.reset
      %i[SecuredConsumer SecuredTransaction SecuredJob].each { |name| Object.send(:remove_const, name) if Object.const_defined?(name) }
      ENV.update(environment)
      load file.path
      told = Thread::Queue.new
      Guildhall::Kafka.instrumentation.subscribe("error.occurred") { |event| told << event.payload }
      Guildhall::Kafka.instrumentation.subscribe("broker.unreachable") { |event| told << event.payload }
      Guildhall::Kafka.start
      producer = Guildhall::Kafka.producer
      to = ->(topic, payload, **more) { client(:producer) { |one| one.produce(topic: "#{group}-#{topic}", payload:, **more).wait } }
      %w[1 bad].each { |payload| to.call("orders", payload) }
      to.call("events-a", "e")
      to.call("paid", "p")
      [%w[a bad], %w[b k]].each { |key, payload| to.call("keyed", payload, key:) }
      producer.produce_sync(topic: "#{group}-results", payload: {"by" => "producer"})
      SecuredJob.perform_later("now")
      SecuredJob.set(wait: 1.5).perform_later("later")
      wanted = [["#{group}-orders", "1"], ["#{group}-events-a", "e"], ["#{group}-keyed", "k"], ["#{group}-results", '{"of":"p"}'],
                ["#{group}-results", '{"by":"producer"}'], %w[job now], %w[job later], %w[tick 1]]
      seen = []
      eventually("#{kind}: all seen") { (seen |= drain(SEEN)) && (wanted - seen).empty? }
      dead = []
      eventually("#{kind}: a dead letter") do
        client(:consumer, "group.id": "look") { |one| dead = one.query_watermark_offsets("#{group}-dead", 0, 5_000) }
        dead == [0, 1]
      end
      # The member commits which keys it has parked.
      rows = nil
      eventually("#{kind}: a parked key") { (rows = Guildhall::Kafka.application.parked_keys).any? && rows.problems.empty? }
      equal(%w[a], rows.map(&:key), "#{kind}: parked keys")
      lag = Guildhall::Kafka.application.lag
      equal([], lag.problems.reject(&:missing?).map(&:to_s), "#{kind}: problems of lag")
      equal(%w[1 bad], Guildhall::Kafka.application.each_message("#{group}-orders").map(&:raw_payload), "#{kind}: each_message")
      tasks = JSON.parse(command.call(environment, "schedule", "list", "--json"))
      equal([["tick", true]], [tasks.values_at("task", "enabled")], "#{kind}: schedule list")
      command.call(environment, "schedule", "disable", "tick")
      check(command.call(environment, "lag", "--json").lines.size >= 10, "#{kind}: lag")
      check(command.call(environment, "keys").include?("#{group}-keyed"), "#{kind}: keys")
      equal([], drain(told).reject { |payload| payload[:error]&.message == "bad" }, "#{kind}: errors")
      Guildhall::Kafka.stop(timeout: 20)
      environment.each_key { |name| ENV.delete(name) }

      # What the commands need besides.
      out, err, status = guildhall("dlq", "list", "-r", file.path, env: environment)
      check(status.exitstatus != 0 && "#{out}#{err}".include?("TOPIC_AUTHORIZATION_FAILED"), "#{kind}: dlq list without rights: #{out}#{err}")
      stages.fetch("# for the commands").each(&grant)
      listed = command.call(environment, "dlq", "list", "--topic", "#{group}-dead")
      check(listed.match?(%r{#{group}-dead/0@0 .* RuntimeError .* -$}), listed)
      check(command.call(environment, "dlq", "replay", "--all", "--topic", "#{group}-dead").include?("1 of 1 dead letter replayed"), "#{kind}: replay")
      notes << kind
    end
    @account = nil
  end
end
