# frozen_string_literal: true

# everyday: embedded
# stress: more messages, on the real broker too
#
# Proves that when worker Ractors die while they decode, and the pool's supervisor is killed again and again, every
# message still comes to its consumer, once and in order: with its payload, or with the error that says that it has
# killed its worker.
require_relative "../support/scenario"

# The stages of this scenario: some payloads end the worker that has them.
module Deadly
  TASK = Guildhall::JSON.lazy >> Guildhall.map { |doc| doc["deadly"] ? Thread.exit : doc["i"] }
end

Scenario.run do
  partitions = 2
  count = long? ? 20_000 : 1_500
  name = topic(partitions:)
  quiet = Logger.new(IO::NULL)
  pool = Guildhall::Pool.new(workers: 2, limits: Guildhall::Pool::Limits.new(breaker_deaths: 1_000_000), logger: quiet)
  deadly = ->(i) { (i % 100).between?(40, 41) }
  wrong = Thread::Queue.new
  account = self.account
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:ACCOUNT, account)
    const_set(:WRONG, wrong)
    const_set(:DEADLY, deadly)
    def consume
      messages.each do |message|
        self.class::WRONG << [message.inspect, message.failure] unless right?(message)
        self.class::ACCOUNT.handled(partition, message.offset, self)
      end
    end

    def right?(message)
      return message.payload == message.offset unless self.class::DEADLY.call(message.offset)

      message.failure&.error_class == "Guildhall::WorkerDiedError"
    end
  end
  configure(pool:, max_messages: 100)
  routes do
    topic(name) do
      consumer consumer
      deserializer Deadly::TASK
      deserializing parallel: true
    end
  end
  kills = 0
  killer = Thread.new do
    until Thread.current[:stop]
      victim = Thread.list.find { |thread| thread.name == "guildhall supervisor" }
      kills += 1 if victim&.kill
      sleep(0.1) # time for it to be replaced, and to replace workers
    end
  end
  start
  total = 0
  until kills >= 3 && total.positive?
    produce(name, (0...(partitions * count)).map do |index|
      i = total + (index / partitions)
      {payload: %({"i": #{i}#{', "deadly": true' if deadly.call(i)}}), partition: index % partitions}
    end)
    partitions.times { |partition| account.produced(partition, count) }
    total += count
    eventually_complete
  end
  killer[:stop] = true
  killer.join
  stop
  pool.shutdown(timeout: 10)
  equal([], drain(wrong).first(3), "payloads")
  equal([total] * partitions, committed(name, partitions:), "committed")
  equal(partitions * total, account.consumed, "handled once")
  notes << "#{kills} supervisors killed"
end
