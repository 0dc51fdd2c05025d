# frozen_string_literal: true

# Proves that a stalled partition (here because its queue is shut by hand) is detected, reported as an
# event and recovered, after some messages or before the first one; that nothing is lost or handled twice; and that
# a partition whose end is not a message (but the mark of a transaction) does not count as stalled.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 3)
  produce_to(name, 3, 10)
  reported = Thread::Queue.new
  shut = []
  configure(stall_timeout: 2)
  instrumentation = Guildhall::Kafka.instrumentation
  instrumentation.subscribe("partition.stalled") { |event| reported << event.payload.values_at(:topic, :partition, :position, :action) }
  consumer = accounting
  drawing = proc { topic(name) { consumer(consumer) } }
  routes(&drawing)
  start
  eventually_complete("the first messages")
  partition = Guildhall::Kafka.application.partitions.find { |one| one.number == 1 }
  eventually("at rest") { partition.snapshot.then { |now| now.state == :waiting && now.in_memory.zero? } }
  shut_queue(partition)
  produce_to(name, 3, 10)
  eventually_complete("cured in the middle")
  unless embedded
    client(:producer, "transactional.id": group) do |producer|
      producer.init_transactions
      producer.begin_transaction
      producer.produce(topic: name, payload: "in a transaction", partition: 2).wait
      producer.commit_transaction
    end
    account.produced(2, 1)
    eventually_complete("the message of the transaction")
    sleep(5)
  end
  stop
  equal([[name, 1, 10, :seek]], drain(reported), "reported")

  restart(stall_timeout: 2, &drawing)
  Guildhall::Kafka.instrumentation.subscribe("partition.stalled") { |event| reported << event.payload.values_at(:topic, :partition, :position, :action) }
  Guildhall::Kafka.instrumentation.subscribe("rebalance.partitions_assigned") do
    shut = Guildhall::Kafka.application.partitions.first(2).each { |one| shut_queue(one) } if shut.empty?
  end
  eventually("assigned") { shut.any? }
  produce_to(name, 2, 10)
  eventually_complete("cured before anything was read")
  stop
  equal([[name, 0, 20, :seek], [name, 1, 20, :seek]], drain(reported).sort, "reported of those from which nothing was read")
  equal(61 - (embedded ? 1 : 0) + 20, account.consumed, "handled once")
end
