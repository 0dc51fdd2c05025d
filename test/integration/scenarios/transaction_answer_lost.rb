# frozen_string_literal: true

# broker: real
#
# Proves that a transaction which repeats one that was aborted is there, although a broker had taken messages of the aborted one and its answer
# was lost: librdkafka gives the repeated messages the same numbers, and the broker would take them for those that it has. Outside of a
# consumer, and in one. On a broker of its own.
require_relative "../support/scenario"

Scenario.run do
  broker = own_broker or next

  proxy = Proxy.new(broker.servers)
  input, output, copies = Array.new(3) { topic }
  # So that the message is not sent again before the transaction is aborted.
  configure(servers: proxy.bootstrap_servers, producer: {"transactional.id": "accounts", "transaction.timeout.ms": 30_000, "retry.backoff.ms": 8_000, "retry.backoff.max.ms": 10_000})
  lose = lambda do
    before = proxy.swallowed
    proxy.swallow_answers(Proxy::PRODUCE)
    lambda do
      eventually("an answer is lost") { proxy.swallowed > before }
      proxy.cut # as when that broker is killed
      proxy.open
    end
  end
  read = ->(name) { Guildhall::Kafka.each_message(name).map(&:raw_payload) }

  producer = Guildhall::Kafka.producer
  begin
    producer.transaction do |transaction|
      transaction.produce_sync(topic: output, payload: "aborted 0")
      lost = lose.call
      4.times { |number| transaction.produce_async(topic: output, payload: "aborted #{number + 1}") }
      lost.call
      raise KeyError, "on purpose"
    end
  rescue KeyError
    nil
  end
  producer.transaction { |transaction| 4.times { |number| transaction.produce_async(topic: output, payload: "committed #{number}") } }
  equal(Array.new(4) { |number| "committed #{number}" }, read.call(output), "what was committed outside of a consumer")

  failures = 0
  copying = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      transaction do
        lost = lose.call if (failures += 1) == 1
        messages.each { |message| produce_async(topic: copies, payload: message.raw_payload) }
        lost&.call
        raise "on purpose" if failures == 1

        mark_as_consumed(messages.last)
      end
    end
  end
  routes { topic(input) { consumer(copying) && transactional } }
  produce(input, Array.new(4) { |number| {payload: number.to_s, partition: 0} })
  start
  eventually("all is consumed") { committed(input) == [4] }
  equal(%w[0 1 2 3], read.call(copies), "what was committed in a consumer")
  stop
ensure
  proxy&.close
end
