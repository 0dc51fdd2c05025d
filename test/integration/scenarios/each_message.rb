# frozen_string_literal: true

# Proves that `each_message` reads each message of a topic once and in order within its partition, from its `from:` to its `until:` (on
# a real broker by time, too, and past the marks and the aborted messages of transactions), beside a group that consumes the same
# topic and is not affected, and that it leaks nothing.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 3)
  produce_to(name, 3, 2_000)
  consumer = accounting
  configure
  routes { topic(name) { consumer consumer } }
  start
  read = Account.new
  3.times { |partition| read.produced(partition, 2_000) }
  me = Object.new
  Guildhall::Kafka.each_message(name) { |message| read.handled(message.partition, message.offset, me) }
  equal([], read.errors, "what was read (#{read})")
  equal(6_000, read.consumed, "read")
  eventually_complete
  rebalances = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("rebalance.partitions_revoked") { |event| rebalances << event }
  before = [descriptors, Thread.list.size]
  5.times { |count| equal([1_990, 1_991], Guildhall::Kafka.each_message(name, from: -10, partitions: count % 3).first(2).map(&:offset), "the last ten") }
  eventually("nothing is left behind") { [descriptors, Thread.list.size].zip(before).all? { |after, earlier| after <= earlier } }
  check(rebalances.empty?, "the group has noticed")
  stop
  read.close
  next if embedded

  moment = Time.now + 0.1
  sleep(0.3)
  transaction = lambda do |payloads, finish|
    client(:producer, "transactional.id": "each-#{@id}") do |producer|
      producer.init_transactions
      producer.begin_transaction
      payloads.map { |payload| producer.produce(topic: name, payload:, partition: 0) }.each { |handle| handle.wait(max_wait_timeout_ms: 60_000) }
      producer.public_send(finish)
    end
  end
  transaction.call(%w[a b], :commit_transaction)
  transaction.call(%w[c d], :abort_transaction)
  equal([[2_000, "a"], [2_001, "b"]], Guildhall::Kafka.each_message(name, from: moment).map { |message| [message.offset, message.raw_payload] }, "since a time")
  equal(6_000, Guildhall::Kafka.each_message(name, until: moment).count, "until a time")
  account.produced(0, 0)
end
