# frozen_string_literal: true

# broker: real
#
# Proves that lag behind a transactional producer is 0 once everything is done, in the event and as the broker knows it,
# although the mark of the transaction lies behind the last message; and that what is not done is counted.
require_relative "../support/scenario"

Scenario.run do
  name = topic
  transaction = lambda do |count|
    client(:producer, "transactional.id": "t-#{@id}") do |producer|
      producer.init_transactions
      producer.begin_transaction
      count.times { |index| producer.produce(topic: name, payload: index.to_s, partition: 0) }
      producer.commit_transaction
    end
  end
  transaction.call(9)
  account.produced(0, 9)
  consumer = accounting
  configure(lag_interval: 0.05, commit_interval: 0.2)
  lags = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("lag.measured") { |event| lags << event.payload[:partitions] }
  routes { topic(name) { consumer(consumer) } }
  application = Guildhall::Kafka.application
  # The broker writes the mark that ends a transaction after it has answered.
  eventually("messages before anything is read") { application.lag.first.messages >= 9 }
  start
  eventually_complete
  eventually("lag is 0") { lags.pop.any? { |lag| lag.values_at(:messages, :seconds) == [0, 0.0] } }
  eventually("committed") { committed(name) == [9] }
  row = application.lag.first
  equal([9, 10, 0, 0.0], [row.committed, row.end_offset, row.messages, row.seconds], "what the broker knows")
  stop
  transaction.call(2)
  row = application.lag.first
  equal([9, 13, 4], [row.committed, row.end_offset, row.messages], "with two more messages and their mark")
  check(row.seconds.positive?, "their age")
  account.produced(0, 0)
end
