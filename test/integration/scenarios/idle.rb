# frozen_string_literal: true

# Proves that an application that waits for messages, with a paused partition and periodic ticks, neither spins nor polls.
require_relative "../../support/wakes"
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 3)
  ticks = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:TICKS, ticks)
    def consume
      pause
    end

    def tick
      self.class::TICKS << partition
    end
  end
  configure(tick_interval: 0.2)
  routes { topic(name) { consumer(consumer) } }
  start
  produce(name, [{payload: "a", partition: 0}])
  eventually("one is paused") { Guildhall::Kafka.application.partitions.any?(&:paused?) }
  GC.start
  idle = Wakes.during(2)
  check(idle.rest, "some thread ran all the time")
  check(idle.wakes < 2_000, "#{idle.wakes} wakes in 2 s")
  check(ticks.size > 6, "#{ticks.size} ticks")
  equal([0, 1, 2], drain(ticks).uniq.sort, "partitions that tick")
  stop
  notes << "#{idle.wakes} wakes"
end
