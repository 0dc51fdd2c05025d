# frozen_string_literal: true

# broker: real (the embedded one knows no static members)
#
# Proves that a member whose `group.instance.id` another process has taken says so, gives its partitions up and stays out,
# while other groups of its process go on; that `guildhall server` ends with status 1 then; and that the newest one loses
# nothing.
require_relative "../support/scenario"

Scenario.run do
  partitions = 2
  name = topic(partitions:)
  other = topic(name: "other")
  kafka = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 500, "group.instance.id": "a"}
  seen = Thread::Queue.new
  consumer = accounting
  bystander = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    def consume = messages.each { |message| self.class::SEEN << message.offset }
  end
  configure(librdkafka: kafka, commit_interval: 0.2)
  own = group
  routes do
    topic(name) { consumer consumer }
    consumer_group("#{own}-other") { topic(other) { consumer bystander } }
  end
  start
  application = Guildhall::Kafka.application
  eventually("all are ours") { application.partitions.size == partitions + 1 }
  produce_to(name, partitions, 50)
  eventually_complete

  first = member(name, librdkafka: kafka, commit_interval: 0.2)
  eventually("fenced") { application.failure }
  check(application.failure.message.include?("give each its own"), application.failure.message)
  eventually("given up") { application.partitions.map(&:name) == [other] }
  equal(["fatal"], drain(errors).map { |payload| payload[:type] }.uniq - ["librdkafka"], "errors")
  produce(other, [{payload: "x"}])
  eventually("the other group goes on") { seen.size == 1 }
  produce_to(name, partitions, 50)
  eventually_complete("consumed by the first member")

  second = member(name, librdkafka: kafka, commit_interval: 0.2)
  equal(1, first.ended, "exit status of the first member")
  produce_to(name, partitions, 50)
  eventually_complete("consumed by the second member")
  sleep(2)
  equal([other], application.partitions.map(&:name), "stays out")
  equal(0, second.leave, "exit status of the second member")
  stop
end
