# frozen_string_literal: true

# Proves that a partition that stands still for no reason (here because its queue is shut by hand) is noticed, told as an
# event and cured, and that nothing is lost or handled twice.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 2)
  produce(name, (0...20).map { |i| {payload: i.to_s, partition: i % 2} })
  seen = Array.new(2) { [] }
  stalled = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    def consume
      messages.each { |message| self.class::SEEN[partition] << message.offset }
    end
  end
  configure(stall_timeout: 0.4)
  Guildhall::Kafka.instrumentation.subscribe("partition.stalled") { |event| stalled << event.payload }
  routes { topic(name) { consumer(consumer) } }
  start
  eventually("the first messages") { seen.sum(&:size) == 20 }
  partition = Guildhall::Kafka.application.partitions.find { |one| one.number == 1 }
  eventually("at rest") { partition.inspect.include?("waiting, 0 batches") }
  partition.queue.allow(0, 1)
  produce(name, (20...40).map { |i| {payload: i.to_s, partition: i % 2} })
  eventually("the other goes on") { seen[0].size == 20 }
  eventually("cured") { seen[1].size == 20 }
  stop
  seen.each { |offsets| equal((0...20).to_a, offsets, "offsets") }
  told = stalled.pop
  equal([name, 1, 10, :seek], told.values_at(:topic, :partition, :position, :action), "told")
  equal(0, stalled.size, "told once")
end
