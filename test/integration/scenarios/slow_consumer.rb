# frozen_string_literal: true

# everyday: embedded
# stress: on the real broker, whose sessions last longer
#
# Proves that a consumer that takes much longer for a batch than max.poll.interval.ms allows keeps its partition: polling
# goes on meanwhile, no rebalance happens, nothing is handled twice, and other partitions go on.
require_relative "../support/scenario"

Scenario.run do
  interval = embedded ? 3 : 6
  name = topic(partitions: 2)
  account = self.account
  others = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:ACCOUNT, account)
    const_set(:OTHERS, others)
    const_set(:SECONDS, interval * 2.5)
    def consume
      sleep(self.class::SECONDS) if partition.zero? && messages.first.offset.zero?
      messages.each do |message|
        self.class::OTHERS << message.offset if partition == 1
        self.class::ACCOUNT.handled(partition, message.offset, self)
      end
    end
  end
  rebalances = Thread::Queue.new
  configure(librdkafka: {"max.poll.interval.ms": interval * 1000, "session.timeout.ms": interval * 1000, "heartbeat.interval.ms": 200},
    max_messages: 100, revocation_timeout: interval / 2.0)
  Guildhall::Kafka.instrumentation.subscribe("rebalance.partitions_revoked") { |event| rebalances << event.payload }
  routes { topic(name) { consumer(consumer) } }
  produce_to(name, 2, 500)
  start
  eventually("the other partition goes on") { others.size == 500 }
  eventually_complete
  equal([], drain(rebalances), "rebalances")
  stop
  equal(1_000, account.consumed, "handled once")
  equal([500, 500], committed(name, partitions: 2), "committed")
  equal([], drain(errors), "errors")
end
