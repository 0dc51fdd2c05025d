# frozen_string_literal: true

# Proves that what all partitions together hold in memory stays within `max_bytes_in_flight` and `max_messages_in_flight`, however
# many they are and however slow their consumer is; that nothing is lost or reordered by that; and that partitions whose consumer
# has paused them and then raised rest until they are resumed, and hold up no other with the batches that wait there.
require_relative "../support/scenario"

Scenario.run do
  partitions = 12
  name = topic(partitions:)
  account = self.account
  gate = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:ACCOUNT, account)
    const_set(:GATE, gate)
    def consume
      self.class::GATE.pop
      if partition < 8 && attempt == 1 && messages.first.offset.zero?
        pause
        raise "not yet"
      end

      messages.each { |message| self.class::ACCOUNT.handled(partition, message.offset, self) }
    end
  end
  limits = {max_messages_in_flight: 70, max_bytes_in_flight: 70_000}
  configure(concurrency: 2, max_messages: 10, max_bytes: 10_000, **limits)
  routes { topic(name) { consumer(consumer) } }
  produce_to(name, partitions, 60, bytes: 2_000)
  start
  flight = Guildhall::Kafka.application.backpressure
  peak = [0, 0]
  watching = Thread.new do
    until Thread.current[:stop]
      peak = [[peak[0], flight.messages].max, [peak[1], flight.bytes].max]
      sleep(0.001)
    end
  end
  eventually("all that may be is in memory") { flight.bytes >= 70_000 || flight.messages >= 70 }
  sleep(0.5)
  check(Guildhall::Kafka.application.partitions.size == partitions, "not all are assigned")
  gate.close
  eventually("the others are done") { account.settled == 4 * 60 && Guildhall::Kafka.application.partitions.count(&:paused?) == 8 }
  check(peak[1] < 70_000 + 14_000, "#{peak[1]} bytes were in memory") # one batch may come on top
  check(peak[0] < 70 + 10, "#{peak[0]} messages were in memory")
  notes << "at most #{peak[0]} messages, #{peak[1]} bytes"
  Guildhall::Kafka.application.partitions.each(&:resume)
  eventually_complete
  eventually("nothing is in flight") { [flight.messages, flight.bytes] == [0, 0] }
  watching[:stop] = true
  watching.join
  stop
  equal(720, account.consumed, "handled once")
end
