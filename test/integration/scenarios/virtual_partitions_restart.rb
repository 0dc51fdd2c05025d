# frozen_string_literal: true

# Proves that what virtual partitions have done beyond the committed offset is kept beside it, so that the next start
# does it not again; and that the user's own metadata stays.
require_relative "../support/scenario"

Scenario.run do
  name = topic
  produce(name, (0...60).map { |i| {payload: i.to_s, key: i < 2 ? "slow" : "k#{i % 3}", partition: 0} })
  lock = Mutex.new
  seen = Hash.new(0)
  gate = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    const_set(:LOCK, lock)
    const_set(:GATE, gate)
    def consume
      messages.each do |message|
        if message.key == "slow"
          self.class::GATE.pop
          raise "the first start never gets here" if self.class::GATE.closed?
        end
        self.class::LOCK.synchronize { self.class::SEEN[message.offset] += 1 }
        mark_as_consumed(message, "mine")
      end
    end
  end
  drawing = proc do
    topic(name) do
      consumer consumer
      virtual_partitions partitioner: ->(message) { message.key }, reducer: ->(key) { key == "slow" ? 0 : key[1..].to_i + 1 }, max: 4
    end
  end
  configure(concurrency: 4)
  routes(&drawing)
  start
  eventually("all but the slow ones") { lock.synchronize { seen.size } == 58 }
  stopping = Thread.new { Guildhall::Kafka.stop(timeout: 3) }
  sleep(0.2)
  gate.close
  stopping.join
  equal([nil], committed(name).map { |offset| offset&.zero? ? nil : offset }, "committed")

  released = Thread::Queue.new
  2.times { released << true }
  consumer.send(:remove_const, :GATE)
  consumer.const_set(:GATE, released)
  restart(concurrency: 4, &drawing)
  eventually("the slow ones") { lock.synchronize { seen.size } == 60 }
  stop
  twice = seen.select { |_, times| times > 1 }
  equal({}, twice, "handled twice")
  equal([60], committed(name), "committed")
end
