# frozen_string_literal: true

# broker: real (the embedded one refuses commits while a group rebalances)
#
# Proves that when a partition goes to another member in the middle of a batch, what was marked of the batch is committed, by a
# consumer that leaves early as well as by one that works on for too long; and that nothing is lost.
require_relative "../support/scenario"

# Handles ten messages of forty, marks them, and leaves when it has to; or, the stubborn one, when it is let.
class Leaving < Guildhall::Kafka::Consumer
  def consume
    messages.each do |message|
      break if revoked? && !self.class::STUBBORN

      self.class::ACCOUNT.handled(partition, message.offset, self)
      mark_as_consumed(message)
      pass(self.class::GATE) if message.offset == 9
    end
  end

  def pass(gate)
    sleep(0.01) until gate.closed? || (revoked? && !self.class::STUBBORN)
  end
end

Scenario.run do
  [false, true].each do |stubborn|
    name = topic(partitions: 2)
    account = Account.new
    gate = Thread::Queue.new
    consumer = Class.new(Leaving) do
      const_set(:ACCOUNT, account)
      const_set(:GATE, gate)
      const_set(:STUBBORN, stubborn)
    end
    kafka = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 200}
    produce(name, (0...80).map { |i| {payload: i.to_s, partition: i % 2} })
    2.times { |partition| account.produced(partition, 40) }
    group_id = "#{group}-#{stubborn}"
    revoked = Thread::Queue.new
    Guildhall::Kafka.reset
    configure(librdkafka: kafka, max_messages: 40, revocation_timeout: 1, commit_interval: 600, group_id:)
    Guildhall::Kafka.instrumentation.subscribe("rebalance.partitions_revoked") { |event| revoked << event.payload }
    routes { topic(name) { consumer(consumer) } }
    start
    eventually("in the middle of both batches") { account.settled == 20 }
    visitor(name, {**kafka, "group.id": group_id}) do |other|
      eventually("given up") { !other.assignment.empty? }
      equal([10, 10], committed(name, partitions: 2, group: group_id), "committed with stubborn: #{stubborn}")
      gate.close
    end
    # The late results of the stubborn one do not count: both partitions are consumed again from where it had marked.
    eventually("all with stubborn: #{stubborn}") { account.consumed == (stubborn ? 80 + 60 : 80) }
    stop
    equal([], account.errors, "errors with stubborn: #{stubborn}")
    equal([40, 40], committed(name, partitions: 2, group: group_id), "committed at the end with stubborn: #{stubborn}")
    account.close
  end
end
