# frozen_string_literal: true

# Proves, on a broker that creates no topics and has ACLs, that where a dead letter topic is missing, may not be written to, or takes no
# message of that size: the start says so, the consumer is not called again, the only runner goes on with other topics, the state is visible, each
# message arrives once the topic is as it should be, and a stop is clean beside a dispatch that cannot be done.
# broker: real
require_relative "../support/scenario"

TOPIC = 2
LITERAL = 3
ALLOW = 3
WRITE = 4
DESCRIBE = 8
DESCRIBE_CONFIGS = 10
MAX_RETRIES = 1

Scenario.run do
  settings = {"auto.create.topics.enable" => false, "allow.everyone.if.no.acl.found" => true,
              "authorizer.class.name" => "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
  own_broker(settings) or next

  reasons = %w[missing denied small later]
  sources = reasons.to_h { |reason| [reason, topic(name: reason)] }
  dead = reasons.to_h { |reason| [reason, "#{sources[reason]}.dead"] }
  fine = topic(name: "fine")
  acl = lambda do |operation|
    client(:admin) do |admin|
      admin.create_acl(resource_type: TOPIC, resource_name: dead["denied"], resource_pattern_type: LITERAL, principal: "User:ANONYMOUS",
        host: "*", operation:, permission_type: ALLOW).wait(max_wait_timeout_ms: 60_000)
    end
  end
  create = lambda do |name, settings = {}|
    client(:admin) { |admin| admin.create_topic(name, 1, 1, settings).wait(max_wait_timeout_ms: 60_000) }
  end
  create.call(dead["denied"])
  create.call(dead["small"], {"max.message.bytes" => "2000"})
  [DESCRIBE, DESCRIBE_CONFIGS].each(&acl)

  calls = Hash.new(0)
  seen = Thread::Queue.new
  blocked = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      messages.each_marking do |message|
        calls[topic_name] += 1 if message.raw_payload.start_with?("bad")
        raise "bad" if message.raw_payload.start_with?("bad")

        seen << [topic_name, message.offset]
      end
    end
  end
  configure(concurrency: 1, pause_timeout: 0.1, pause_max_timeout: 1)
  Guildhall::Kafka.instrumentation.subscribe("dead_letter_queue.blocked") { |event| blocked << event.payload }
  routes do
    sources.each do |reason, name|
      next if reason == "later"

      topic(name) do
        consumer consumer
        dead_letter_queue topic: dead[reason], max_retries: MAX_RETRIES
      end
    end
    topic(fine) { consumer consumer }
  end
  %w[missing denied small].each do |reason|
    produce(sources[reason], [{payload: "bad#{SecureRandom.bytes(5_000) if reason == "small"}", partition: 0}, {payload: "good", partition: 0}])
  end
  advised = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("app.advised") { |event| advised << event.payload }
  start
  problems = []
  eventually("the check at the start") do
    problems.concat(drain(advised))
    problems.map { |problem| problem[:topic] }.sort == dead.values_at("missing", "denied", "small").sort
  end
  texts = problems.to_h { |problem| [problem[:topic], problem[:message]] }
  {"missing" => /does not exist: create it, the brokers create none/, "denied" => /may not be written to: grant WRITE/,
   "small" => /takes messages of 2000 bytes at most/}.each { |reason, text| check(text.match?(texts[dead[reason]]), texts[dead[reason]]) }

  failing = Hash.new(0)
  eventually("each of them blocked several times") do
    drain(blocked).each { |payload| failing[payload[:to]] = payload[:attempt] }
    dead.values_at("denied", "small").all? { |name| failing[name] > 3 } && failing[dead["missing"]] >= 1
  end
  produce(fine, Array.new(20) { |i| {payload: i.to_s, partition: 0} })
  eventually("the other topic goes on") { seen.size >= 20 }
  equal([[fine], [MAX_RETRIES + 1]], [drain(seen).map(&:first).uniq, calls.values.uniq], "who was called")
  texts = Guildhall::Kafka.application.partitions.map(&:inspect)
  {"missing" => "create topic", "denied" => "grant WRITE", "small" => "raise max.message.bytes"}.each do |reason, advice|
    check(texts.any? { |text| text.include?("#{dead[reason]} cannot be written") && text.include?(advice) }, "#{reason}: #{texts}")
  end

  create.call(dead["missing"])
  acl.call(WRITE)
  client(:admin) do |admin|
    admin.incremental_alter_configs([{resource_type: TOPIC, resource_name: dead["small"],
                                      configs: [{name: "max.message.bytes", value: "100000", op_type: 0}]}]).wait(max_wait_timeout_ms: 60_000)
  end
  eventually("what is behind them is consumed") { seen.size == 3 }
  equal([MAX_RETRIES + 1], calls.values.uniq, "calls at the end")
  eventually("no partition is blocked") { Guildhall::Kafka.application.partitions.none?(&:blocked) }
  stop
  reasons.first(3).each { |reason| equal([2], committed(sources[reason]), "committed, #{reason}") }
  counts = dead.values_at("missing", "denied", "small").map { |name| client(:consumer, "group.id": group) { |one| one.query_watermark_offsets(name, 0).last } }
  equal([1, 1, 1], counts, "dead letters")

  calls.clear
  produce(sources["later"], [{payload: "bad", partition: 0}])
  restart(concurrency: 1, pause_timeout: 0.1, pause_max_timeout: 1) do
    topic(sources["later"]) do
      consumer consumer
      dead_letter_queue topic: dead["later"], max_retries: MAX_RETRIES
    end
  end
  eventually("it is on its way") { calls[sources["later"]] == MAX_RETRIES + 1 }
  stop(timeout: 15)
  equal([[0], []], [committed(sources["later"]), drain(@errors).select { |error| error[:type] == "producer" }], "the stop, and who reports")
end
