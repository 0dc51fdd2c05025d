# frozen_string_literal: true

# Proves that a consumer that raises is called again with the messages it has not marked, after a pause, while other
# partitions go on; that `attempt` counts; and that order is kept.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 2)
  produce(name, (0...200).map { |i| {payload: i.to_s, partition: i % 2} })
  calls = Thread::Queue.new
  seen = Array.new(2) { [] }
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:CALLS, calls)
    const_set(:SEEN, seen)
    def consume
      self.class::CALLS << [partition, attempt, retrying?, messages.first.offset]
      messages.each do |message|
        raise "not yet" if message.offset == 40 && partition.zero? && attempt < 3

        self.class::SEEN[partition] << message.offset
        mark_as_consumed(message)
      end
    end
  end
  configure(max_messages: 30)
  routes { topic(name) { consumer(consumer) } }
  start
  eventually("all consumed") { seen.sum(&:size) >= 200 }
  stop
  seen.each { |offsets| equal((0...100).to_a, offsets, "offsets") }
  tries = Array.new(calls.size) { calls.pop }.select { |partition, *, first| partition.zero? && first == 40 }
  equal([[0, 2, true, 40], [0, 3, true, 40]], tries, "calls again from the first unmarked message")
  equal(2, errors.size, "errors reported")
  reported = errors.pop
  equal(["not yet", "consumer.consume", 0, 40, 1], [reported[:error].message, *reported.values_at(:type, :partition, :offset, :attempt)], "reported")
  equal([100, 100], committed(name, partitions: 2), "committed")
end
