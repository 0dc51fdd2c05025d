# frozen_string_literal: true

# broker: real (the embedded one knows no static members)
#
# Proves that a member with a `group.instance.id` that stops and is started again within the session gets its partitions
# back, goes on where it was, and that the other member notices nothing: no rebalance, no partition given up or taken on.
# And that two clients of one process, which the same group needs for topics with different settings, are two members.
require_relative "../support/scenario"

Scenario.run do
  partitions = 4
  name = topic(partitions:)
  second = topic(name: "second")
  kafka = Scenario.membership(session: 30_000, heartbeat: 500)
  consumer = accounting
  rebalances = Thread::Queue.new
  configure(librdkafka: {**kafka, "group.instance.id": "a"}, commit_interval: 0.2)
  Guildhall::Kafka.instrumentation.subscribe("rebalance.partitions_assigned", "rebalance.partitions_revoked") do |event|
    rebalances << [event.name, event.payload[:partitions]]
  end
  routes { topic(name) { consumer(consumer) } }
  start
  application = Guildhall::Kafka.application
  eventually("all are ours") { application.partitions.size == partitions }
  other = member(name, librdkafka: {**kafka, "group.instance.id": "b"}, commit_interval: 0.2)
  eventually("they are shared") { application.partitions.size == 2 }
  ours = application.partitions.map(&:number).sort
  produce_to(name, partitions, 50)
  eventually_complete
  eventually("at rest") { rebalances.empty? || (drain(rebalances) && sleep(1) && rebalances.empty?) }

  2.times do
    equal(0, other.leave, "exit status of the other member")
    produce_to(name, partitions, 50)
    eventually("ours go on") { account.settled >= account.produced_in_all - 100 }
    other = member(name, librdkafka: {**kafka, "group.instance.id": "b"}, commit_interval: 0.2)
    eventually_complete("its own are consumed by the other member")
  end
  equal([], drain(rebalances), "rebalances here")
  equal(ours, application.partitions.map(&:number).sort, "partitions here")
  check(account.consumed == account.settled, "#{account.consumed - account.settled} were handled twice")
  other.leave
  stop

  one = topic(name: "one")
  restart(librdkafka: {**kafka, "group.instance.id": "c"}, group_id: "#{group}-c") do
    topic(one) { consumer(consumer) }
    topic(second) { consumer(consumer) && kafka("fetch.wait.max.ms": 50) }
  end
  eventually("both clients have what is theirs") { Guildhall::Kafka.application.partitions.map(&:name).sort == [one, second].sort }
  sleep(2)
  equal([], drain(errors).map { |payload| payload[:error] }.grep(/fenced|instance/i), "members fenced")
  equal([one, second].sort, Guildhall::Kafka.application.partitions.map(&:name).sort, "still theirs")
  stop
end
