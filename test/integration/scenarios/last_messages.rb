# frozen_string_literal: true

# broker: real
#
# Proves that a negative number counts messages and not offsets, in `each_message` and in a route that assigns partitions: behind the marks
# of transactions, aborted messages, and messages that were deleted.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 1)
  transaction = lambda do |count, finish|
    client(:producer, "transactional.id": "l-#{@id}") do |producer|
      producer.init_transactions
      producer.begin_transaction
      handles = Array.new(count) { |index| producer.produce(topic: name, payload: index.to_s, partition: 0) }
      handles.each { |handle| handle.wait(max_wait_timeout_ms: 60_000) }
      producer.public_send(finish)
    end
  end
  kafka = {"bootstrap.servers": servers}
  Guildhall::Kafka.configure { |config| config.kafka = kafka }
  4.times { transaction.call(1, :commit_transaction) } # each message is followed by a mark
  transaction.call(30, :abort_transaction)
  all = Guildhall::Kafka.each_message(name).map(&:offset)
  equal([0, 2, 4, 6], all, "messages")
  (1..5).each { |count| equal(all.last(count), Guildhall::Kafka.each_message(name, from: -count).map(&:offset), "the last #{count}") }

  seen = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { messages.each { |message| seen << message.offset } } }
  configure
  routes do
    topic(name) do
      consumer consumer
      assign partitions: {0 => -3}
    end
  end
  start
  equal([2, 4, 6], Array.new(3) { seen.pop(timeout: 60) }, "assigned")
  transaction.call(1, :commit_transaction)
  equal(39, seen.pop(timeout: 60), "what comes later")
  stop
  equal([], drain(seen), "more than that")

  client(:admin) { |admin| admin.delete_records(name => [{partition: 0, offset: 5}]).wait(max_wait_timeout_ms: 60_000) }
  equal([6, 39], Guildhall::Kafka.each_message(name, from: -3).map(&:offset), "of two that are left, the last three")
end
