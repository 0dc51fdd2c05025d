# frozen_string_literal: true

# Proves that stopping finishes the batch in work, commits it, drops what waits behind it, calls `shutdown`, and that
# the next start goes on exactly there: nothing is handled twice and nothing is left out.
require_relative "../support/scenario"

Scenario.run do
  count = 2_000
  name = topic(partitions: 2)
  produce(name, (0...count).map { |i| {payload: i.to_s, partition: i % 2} })
  seen = Array.new(2) { [] }
  ended = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    const_set(:ENDED, ended)
    def consume
      messages.each do |message|
        sleep(0.002)
        self.class::SEEN[partition] << message.offset
      end
    end

    def shutdown
      self.class::ENDED << partition
    end
  end
  drawing = proc { topic(name) { consumer(consumer) } }
  configure(max_messages: 50)
  routes(&drawing)
  start
  rounds = 0
  until seen.sum(&:size) >= count
    goal = [seen.sum(&:size) + 300, count].min
    eventually("more") { seen.sum(&:size) >= goal }
    stop
    handled = seen.map(&:size)
    equal(handled, committed(name, partitions: 2).map(&:to_i), "committed is what was handled")
    rounds += 1
    restart(max_messages: 50, &drawing) if handled.sum < count
  end
  seen.each { |offsets| equal((0...(count / 2)).to_a, offsets, "offsets") }
  check(rounds > 2, "stopped in the middle only #{rounds} times")
  check(ended.size >= rounds, "shutdown was called #{ended.size} times")
  notes << "#{rounds} stops"
end
