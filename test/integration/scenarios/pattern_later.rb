# frozen_string_literal: true

# Proves that a pattern also takes topics that are created while the application runs, from their beginning.
require_relative "../support/scenario"

Scenario.run do
  first = topic(name: "events-a")
  expression = /\Aevents-.*#{@id}/
  account = self.account
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:ACCOUNT, account)
    def consume
      messages.each { |message| self.class::ACCOUNT.handled(topic_name, message.offset, self) }
    end
  end
  configure(librdkafka: {"topic.metadata.refresh.interval.ms": 500})
  routes { pattern(expression) { consumer consumer } }
  produce(first, (0...10).map { |i| {payload: i.to_s, partition: 0} })
  account.produced(first, 10)
  start
  eventually_complete
  later = topic(name: "events-b")
  produce(later, (0...10).map { |i| {payload: i.to_s, partition: 0} })
  account.produced(later, 10)
  eventually_complete("what came later")
  equal([first, later].sort, Guildhall::Kafka.application.partitions.map(&:name).sort, "assigned")
  stop
  equal([[10], [10]], [first, later].map { |name| committed(name) }, "committed")
end
