# frozen_string_literal: true

# broker: real (the embedded one deletes no topics)
#
# Proves that a topic that is deleted while it is consumed, and recreated with the same name, is consumed from its new
# beginning, although that lies before what was handled of the old one: everything of both, each once and in order.
require_relative "../support/scenario"

Scenario.run do
  partitions = 2
  name = topic(partitions:)
  account = self.account
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:ACCOUNT, account)
    def consume
      messages.each do |message|
        incarnation, number = message.payload.split
        self.class::ACCOUNT.handled("#{incarnation}/#{partition}", number.to_i, self)
      end
    end
  end
  configure(librdkafka: {"topic.metadata.refresh.interval.ms": 500, "metadata.max.age.ms": 2_000, "session.timeout.ms": 6_000},
    commit_interval: 0.2, max_messages: 50)
  routes { topic(name) { consumer(consumer) } }
  start
  [[0, 300], [0, 100], [2, 200], [2, 250]].each_with_index do |(gone_for, count), incarnation|
    if incarnation.positive?
      client(:admin) do |admin|
        admin.delete_topic(name).wait(max_wait_timeout_ms: 60_000)
        sleep(gone_for)
        eventually("recreated") do
          admin.create_topic(name, partitions, 1).wait(max_wait_timeout_ms: 60_000)
        rescue Rdkafka::RdkafkaError
          false # the deletion is still under way
        end
      end
    end
    produce(name, (0...(partitions * count)).map { |i| {payload: "#{incarnation} #{i / partitions}", partition: i % partitions} })
    partitions.times { |partition| account.produced("#{incarnation}/#{partition}", count) }
    eventually_complete("topic number #{incarnation} consumed")
    eventually("committed") { committed(name, partitions:) == [count] * partitions }
  end
  stop
  notes << "#{account.lives} assignments"
end
