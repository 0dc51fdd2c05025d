# frozen_string_literal: true

# Proves that several members of one group in one process consume everything once and in order, that their number grows while
# the process is behind and shrinks when it has caught up, in mid-work, without anything lost, reordered or repeated, and that nothing is left
# of those that have left.
require_relative "../support/scenario"

Scenario.run do
  partitions = 6
  name = topic(partitions:)
  consumer = accounting(pause: 0.002)
  changes = Thread::Queue.new
  configure(librdkafka: {"heartbeat.interval.ms": 200}, max_messages: 20, commit_interval: 0.2, lag_interval: 0.2)
  Guildhall::Kafka.instrumentation.subscribe("members.changed") { |event| changes << event.payload.values_at(:members, :change) }
  routes do
    multiplexing(1..3, lag: 0.5, grow_after: 0.5, shrink_after: 3)
    topic(name) { consumer(consumer) }
  end
  start
  application = Guildhall::Kafka.application
  eventually("assigned") { application.partitions.size == partitions }
  producing = Thread.new do
    until Thread.current[:stop]
      produce_to(name, partitions, 100)
      sleep(0.01) while account.produced_in_all - account.settled > 3_000 && !Thread.current[:stop]
    end
  end
  eventually("three members") { application.listeners.count(&:assigned?) == 3 }
  eventually("each has its share") { application.listeners.map { |one| one.partitions.size } == [2, 2, 2] }
  so_far = account.settled
  eventually("they go on") { account.settled > so_far + 500 }
  producing[:stop] = true
  producing.join
  eventually_complete("all consumed")
  eventually("one member is left") { application.listeners.size == 1 && application.partitions.size == partitions }
  produce_to(name, partitions, 20)
  eventually_complete("what came afterwards")
  equal([[2, 1], [3, 1], [2, -1], [1, -1]], drain(changes), "changes")
  stop
  # The embedded broker refuses commits while a group rebalances.
  equal(account.settled, account.consumed, "handled, in all") unless embedded
  equal(Array.new(partitions) { account.settled / partitions }, committed(name, partitions:), "committed")
  equal([], Thread.list.filter_map(&:name).grep(/guildhall/), "threads left")
end
