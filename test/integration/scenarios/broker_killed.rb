# frozen_string_literal: true

# broker: real
#
# Proves that when the broker is killed (-9) and comes back in mid-batch, consumption goes on by itself: nothing is lost,
# nothing is out of order, and what is handled twice is counted. On a broker of its own.
require_relative "../support/scenario"

Scenario.run do
  own_broker or next

  count = 3_000
  name = topic(partitions: 3)
  produce(name, (0...count).map { |i| {payload: i.to_s, partition: i % 3} })
  seen = Array.new(3) { [] }
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    def consume
      messages.each do |message|
        sleep(0.002)
        self.class::SEEN[partition] << message.offset
      end
    end
  end
  configure(max_messages: 50, commit_interval: 0.5)
  routes { topic(name) { consumer(consumer) } }
  start
  eventually("begun") { seen.sum(&:size) > 200 }
  kill_broker(name) { sleep(3) }
  eventually("all consumed", 90) { seen.sum { |offsets| offsets.uniq.size } >= count }
  eventually("stopped") { Guildhall::Kafka.stop(timeout: 20) }
  seen.each { |offsets| equal((0...(count / 3)).to_a, offsets.uniq, "offsets, in order") }
  eventually("committed") { committed(name, partitions: 3) == [count / 3] * 3 }
  notes << "#{seen.sum(&:size) - count} handled twice"
end
