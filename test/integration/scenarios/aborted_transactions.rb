# frozen_string_literal: true

# broker: real
#
# Proves that messages of aborted transactions in what is consumed stall no partition and leave no lag: between others, at the end, and where a
# partition has nothing else; that what comes after them is consumed at once, and that no partition is taken for stalled.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 2)
  transaction = lambda do |count, finish, partition = 0|
    client(:producer, "transactional.id": "a-#{@id}") do |producer|
      producer.init_transactions
      producer.begin_transaction
      handles = Array.new(count) { |index| producer.produce(topic: name, payload: index.to_s, partition:) }
      handles.each { |handle| handle.wait(max_wait_timeout_ms: 60_000) }
      producer.public_send(finish)
    end
  end
  transaction.call(5, :commit_transaction)
  transaction.call(50, :abort_transaction)
  transaction.call(5, :commit_transaction)
  transaction.call(1_000, :abort_transaction)
  transaction.call(300, :abort_transaction, 1)
  expected = [[*0...5, *57...62], []]
  seen = [[], []]
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) { messages.each { |message| seen[partition] << message.offset } }
  end
  configure(lag_interval: 0.05, commit_interval: 0.1, stall_timeout: 1)
  lags = Thread::Queue.new
  stalled = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("lag.measured") { |event| lags << event.payload[:partitions].to_h { |lag| [lag[:partition], lag[:messages]] } }
  Guildhall::Kafka.instrumentation.subscribe("partition.stalled") { |event| stalled << event.payload }
  routes { topic(name) { consumer(consumer) } }
  start
  eventually("what was committed is consumed") { seen == expected }
  last = nil
  eventually("lag is 0, and is not #{last.inspect}", 20) { (last = lags.pop)[0]&.zero? && last.fetch(1, 0).zero? }
  sleep(3)
  equal([], drain(stalled), "stalled partitions")
  equal([0, 0], Guildhall::Kafka.application.lag.map(&:messages), "what the broker knows")
  transaction.call(3, :commit_transaction)
  transaction.call(2, :commit_transaction, 1)
  eventually("what comes later") { seen[0].size == 13 && seen[1].size == 2 }
  eventually("lag is 0 again") { lags.pop == {0 => 0, 1 => 0} }
  stop
end
