# frozen_string_literal: true

# broker: real (one of its own: the brokers decide the time between heartbeats)
#
# Proves that a member with the consumer protocol (KIP-848) learns what it was assigned although the answer that said so was lost: it joins
# anew, and gives up what another member is to have, or reads what it has got. librdkafka would not ask again.
require_relative "../support/scenario"

Scenario.run do
  broker = own_broker("group.consumer.min.heartbeat.interval.ms" => 1_000, "group.consumer.heartbeat.interval.ms" => 1_000) or next

  proxy = Proxy.new(broker.servers)
  partitions = 4
  name = topic(partitions:)
  consumer = accounting
  configure(servers: proxy.bootstrap_servers, group_protocol: :consumer, commit_interval: 0.2)
  routes { topic(name) { consumer(consumer) } }
  start
  produce_to(name, partitions, 20)
  eventually_complete
  mine = -> { Guildhall::Kafka.application.partitions.map(&:number).sort }
  equal([0, 1, 2, 3], mine.call, "alone")

  lose = lambda do
    before = proxy.swallowed
    eventually("answers are lost") { proxy.swallowed >= before + 2 }
    proxy.open
  end
  # What it is to give up is in an answer that is lost.
  proxy.swallow_answers(Proxy::CONSUMER_GROUP_HEARTBEAT)
  other = member(name, commit_interval: 0.2)
  members = -> { Guildhall::Kafka.admin("bootstrap.servers": broker.servers) { |admin| admin.groups[group].members.size } }
  eventually("the other one is there") { members.call == 2 }
  lose.call
  # Under load it may have joined anew already, and the answer to that be lost: librdkafka waits for it for 45 s.
  eventually("half is given up", 90) { mine.call.size == 2 }
  produce_to(name, partitions, 20)
  eventually_complete("consumed by both")

  # And then what it gets.
  eventually("it is at rest") { mine.call.size == 2 && drain(errors).none? { |payload| payload[:type] == "listener" } }
  proxy.swallow_answers(Proxy::CONSUMER_GROUP_HEARTBEAT)
  equal(0, other.leave, "the other one's exit status")
  eventually("it has left") { members.call == 1 }
  lose.call
  produce_to(name, partitions, 20)
  eventually_complete("all is read by the one that is left")
  equal([0, 1, 2, 3], mine.call, "alone again")
  stop
  proxy.close
end
