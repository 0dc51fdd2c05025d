# frozen_string_literal: true

# Proves that if a seek does not recover a stalled partition (here because its queue stays shut),
# the client rejoins the group, with all partitions of that client, and that nothing is lost or handled twice.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 2)
  reported = Thread::Queue.new
  consumer = accounting
  configure(stall_timeout: 1, commit_interval: 0.2)
  Guildhall::Kafka.instrumentation.subscribe("partition.stalled") { |event| reported << event.payload.values_at(:partition, :position, :action) }
  routes { topic(name) { consumer(consumer) } }
  produce_to(name, 2, 10)
  start
  eventually_complete("the first messages")
  partition = Guildhall::Kafka.application.partitions.find { |one| one.number == 1 }
  eventually("at rest") { partition.snapshot.then { |now| now.state == :waiting && now.in_memory.zero? } }
  shut_queue(partition).define_singleton_method(:allow) { |*| nil }
  produce_to(name, 2, 10)
  eventually_complete("cured")
  check(Guildhall::Kafka.application.partitions.none? { |one| one.equal?(partition) }, "the partition is still the one that stood still")
  stop
  equal([[1, 10, :seek], [1, 10, :rejoin]], drain(reported), "reported")
  equal(40, account.consumed, "handled once")
  equal([20, 20], committed(name, partitions: 2), "committed")
end
