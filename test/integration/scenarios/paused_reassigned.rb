# frozen_string_literal: true

# broker: real (the embedded one refuses commits while a group rebalances)
#
# Proves that a partition that was paused for ever, by its consumer, and then goes to another member and comes back, is
# consumed: a pause ends with the assignment. And that an application that was made quiet stays so: it begins
# nothing with what it is assigned again.
require_relative "../support/scenario"

Scenario.run do
  partitions = 2
  name = topic(partitions:)
  account = self.account
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:ACCOUNT, account)
    def consume
      messages.each { |message| self.class::ACCOUNT.handled(partition, message.offset, self) }
      pause if messages.first.offset.zero?
    end
  end
  kafka = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 200}
  configure(librdkafka: kafka, max_messages: 20, commit_interval: 0.2)
  routes { topic(name) { consumer(consumer) } }
  produce_to(name, partitions, 100)
  start
  application = Guildhall::Kafka.application
  all_paused = -> { application.partitions.size == partitions && application.partitions.all?(&:paused?) }
  eventually("paused", &all_paused)
  paused_at = account.settled
  check(paused_at < 100 * partitions, "nothing was left to be consumed")

  visitor(name, kafka) { eventually("a partition went away") { application.partitions.size < partitions } }
  eventually_complete("consumed after having come back")

  application.quiet
  eventually("quiet", &all_paused)
  visitor(name, kafka) { eventually("a partition went away") { application.partitions.size < partitions } }
  eventually("back, and quiet", &all_paused)
  produce(name, [{payload: "not yet", partition: 0}, {payload: "not yet", partition: 1}])
  sleep(1)
  equal(100 * partitions, account.settled, "handled while quiet")
  stop
end
