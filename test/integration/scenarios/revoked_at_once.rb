# frozen_string_literal: true

# broker: real (the embedded one refuses commits while a group rebalances)
#
# Proves that with `revocation_timeout = 0` a rebalance does not wait for work in progress: the partition goes while its
# consumer is still at work, that is reported, `revoked?` says so there, the late result is never committed, and the work is
# done again. Partitions that have nothing to do are not reported as abandoned.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 2)
  account = self.account
  gate = Thread::Queue.new
  late = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:ACCOUNT, account)
    const_set(:GATE, gate)
    const_set(:LATE, late)
    def consume
      self.class::GATE.pop
      return self.class::LATE << [partition, mark_as_consumed(messages.last)] if revoked?

      messages.each { |message| self.class::ACCOUNT.handled(partition, message.offset, self) }
    end

    def revoked
      self.class::LATE << [partition, :revoked]
    end
  end
  kafka = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 200}
  abandoned = Thread::Queue.new
  configure(librdkafka: kafka, revocation_timeout: 0, commit_interval: 0.2)
  Guildhall::Kafka.instrumentation.subscribe("partition.abandoned") { |event| abandoned << event.payload[:partition] }
  routes { topic(name) { consumer(consumer) } }
  produce(name, (0...20).map { |i| {payload: i.to_s, partition: 1} })
  account.produced(1, 20)
  start
  application = Guildhall::Kafka.application
  eventually("one is at work") { application.partitions.any?(&:working?) && application.partitions.size == 2 }
  visitor(name, kafka) do |other|
    eventually("the other member has a partition while the work goes on") { !other.assignment.empty? && gate.num_waiting.positive? }
    equal([1], drain(abandoned).uniq, "abandoned")
    equal([0], committed(name, partitions: 2).drop(1), "committed")
    gate.close
    eventually("the late one has ended") { late.size >= 1 }
  end
  eventually_complete
  stop
  reported = drain(late)
  check(reported.include?([1, false]), "the late mark was stored: #{reported}")
  check(reported.include?([1, :revoked]), "revoked was not called: #{reported}")
  equal([20], committed(name, partitions: 2).drop(1), "committed at the end")
end
