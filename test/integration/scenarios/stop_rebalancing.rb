# frozen_string_literal: true

# broker: real (the embedded one knows no cooperative rebalances)
# stress: 200 stops instead of a few
#
# Proves that an application that is stopped at any moment of a cooperative rebalance, while other members join and
# leave, stops within its deadline without a crash; and that nothing is lost by it.
require_relative "../support/scenario"

Scenario.run do
  partitions = 4
  name = topic(partitions:)
  produce_to(name, partitions, 200)
  consumer = accounting(pause: 0.001)
  kafka = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 100, "partition.assignment.strategy": "cooperative-sticky"}
  drawing = proc { topic(name) { consumer(consumer) } }
  runs = long? ? 200 : 4
  slowest = 0
  runs.times do
    restart(librdkafka: kafka, max_messages: 10, &drawing)
    eventually("assigned") { Guildhall::Kafka.application.partitions.size == partitions }
    visitor(name, kafka) do
      sleep(rand * 0.5)
      before = awake
      stop
      slowest = [slowest, awake - before].max
    end
  end
  restart(librdkafka: kafka, &drawing)
  eventually_complete
  # What was consumed before, amid rebalances that refuse commits, is consumed once more by now.
  eventually("all committed") { committed(name, partitions:) == [200] * partitions }
  stop
  equal([200] * partitions, committed(name, partitions:), "committed")
  notes << "#{runs} stops" << "the slowest in #{slowest.round(1)} s"
end
