# frozen_string_literal: true

# broker: real (the embedded one refuses commits while a group rebalances)
#
# Proves that a member whose commit is never answered is not kept out of its group by it: librdkafka takes no new assignment
# until then, so that the member rejoins the group. What was not committed is handled again, and counted; nothing is lost.
require_relative "../support/scenario"

Scenario.run do
  partitions = 2
  name = topic(partitions:)
  proxy = Proxy.new(servers)
  consumer = accounting
  configure(servers: proxy.bootstrap_servers, commit_interval: 0.2, revocation_timeout: 1,
    librdkafka: {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 500, "socket.timeout.ms": 300_000})
  routes { topic(name) { consumer(consumer) } }
  start
  produce_to(name, partitions, 100)
  eventually_complete
  eventually("committed") { committed(name, partitions:) == [100] * partitions }
  application = Guildhall::Kafka.application

  proxy.swallow_answers(Proxy::OFFSET_COMMIT)
  produce_to(name, partitions, 100)
  eventually_complete("consumed without an answer to commits")
  eventually("swallowed") { proxy.swallowed.positive? }
  visitor(name, {"session.timeout.ms": 6_000}) do |other|
    eventually("all are the other's") { application.partitions.empty? && other.assignment.to_h.values.flatten.any? }
  end
  produce_to(name, partitions, 100)
  eventually_complete("consumed again, still without an answer")
  check(drain(errors).any? { |payload| payload[:error].message.include?("rejoining the group") }, "it was not reported")

  proxy.cut # what the broker has committed, and never answered, is asked for once more on a new connection
  proxy.open
  eventually("committed in the end") { committed(name, partitions:) == [300] * partitions }
  stop(timeout: 40)
  notes << "#{account.lives} assignments"
  proxy.close
end
