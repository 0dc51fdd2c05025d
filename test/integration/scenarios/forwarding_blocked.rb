# frozen_string_literal: true

# Proves, on a broker that creates no topics and has ACLs, that where the topic of `pipe_to` is missing or may not be written to: the only runner goes on with other topics, the state is visible, the consumer is called once more
# only, each message arrives once and in order when the topic is as it should be, and a stop is clean beside one that cannot be sent.
# broker: real
require_relative "../support/scenario"

TOPIC = 2
LITERAL = 3
ALLOW = 3
READ = 3
WRITE = 4
DESCRIBE = 8
COUNT = 50

Scenario.run do
  settings = {"auto.create.topics.enable" => false, "allow.everyone.if.no.acl.found" => true,
              "authorizer.class.name" => "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
  own_broker(settings) or next

  reasons = %w[missing denied]
  sources = reasons.to_h { |reason| [reason, topic(name: reason)] }
  targets = reasons.to_h { |reason| [reason, "#{sources[reason]}.target"] }
  never = topic(name: "never")
  fine = topic(name: "fine")
  acl = lambda do |operation|
    client(:admin) do |admin|
      admin.create_acl(resource_type: TOPIC, resource_name: targets["denied"], resource_pattern_type: LITERAL, principal: "User:ANONYMOUS",
        host: "*", operation:, permission_type: ALLOW).wait(max_wait_timeout_ms: 60_000)
    end
  end
  create = ->(name) { client(:admin) { |admin| admin.create_topic(name, 1, 1).wait(max_wait_timeout_ms: 60_000) } }
  create.call(targets["denied"])
  acl.call(DESCRIBE)

  calls = Hash.new(0)
  seen = Thread::Queue.new
  blocked = Thread::Queue.new
  pipe = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      calls[[topic_name, messages.first.offset]] += 1
      pipe_to "#{topic_name}.target"
    end
  end
  count = Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { messages.each { |message| seen << message.offset } } }
  configure(concurrency: 1, pause_timeout: 0.1, pause_max_timeout: 1, max_messages: COUNT)
  Guildhall::Kafka.instrumentation.subscribe("forwarding.blocked") { |event| blocked << event.payload }
  routes do
    [*sources.values, never].each { |name| topic(name) { consumer pipe } }
    topic(fine) { consumer count }
  end
  [*sources.values, never].each do |name|
    # Of one key and of none, so that their number of partitions is asked for as well.
    produce(name, Array.new(COUNT) { |i| {payload: i.to_s, key: ("k" if name == sources["missing"]), partition: 0}.compact })
  end
  start
  attempts = {}
  eventually("each of them blocked") do
    drain(blocked).each { |payload| attempts[payload[:to]] = payload[:attempt] }
    attempts.key?(targets["missing"]) && attempts.fetch(targets["denied"], 0) > 3
  end
  produce(fine, Array.new(20) { |i| {payload: i.to_s, partition: 0} })
  eventually("the other topic goes on") { seen.size == 20 }
  texts = Guildhall::Kafka.application.partitions.map(&:inspect)
  targets.each_value { |name| check(texts.any? { |text| text.include?("topic #{name} cannot be written") }, texts.join("\n")) }
  check(texts.any? { |text| text.include?("grant WRITE and DESCRIBE on topic #{targets["denied"]}") }, texts.join("\n"))
  before = sources.values.to_h { |name| [name, calls.select { |(topic, _), _| topic == name }.values.sum] }
  equal([1], before.values.uniq, "calls of the consumer while it is blocked")

  create.call(targets["missing"])
  [READ, WRITE].each(&acl)
  eventually("all are consumed") { sources.values.all? { |name| committed(name) == [COUNT] } }
  partitions = Guildhall::Kafka.application.partitions
  eventually("only one is blocked") { partitions.one?(&:blocked) }
  check(calls.values.max <= 2, "calls: #{calls}")
  stop(timeout: 15)
  equal([0], committed(never).map(&:to_i), "what cannot be sent is not done")
  targets.each do |reason, name|
    arrived = []
    Guildhall::Kafka.application.each_message(name) { |message| arrived << Integer(message.raw_payload) }
    equal([*0...COUNT], arrived, "what has arrived, #{reason}")
  end
end
