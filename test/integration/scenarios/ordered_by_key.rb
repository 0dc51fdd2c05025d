# frozen_string_literal: true

# Proves that with `ordering :key` a key that fails waits alone: all other keys of its partition are consumed to the end, by fewer
# threads than there are keys; what waits is listed; a message that fails for good becomes a dead letter, and its key goes on; no
# message is lost, none is handled twice, and none is out of order within its key.
require_relative "../support/scenario"

Scenario.run do
  keys = 60
  each = 30
  name = topic
  produce(name, (0...(keys * each)).map { |i| {payload: (i / keys).to_s, key: "k#{i % keys}", partition: 0} })
  keys.times { |key| account.produced("k#{key}", each) }
  outage = Class.new(StandardError)
  released = []
  account = self.account
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      messages.each_marking do |message|
        number = Integer(message.raw_payload)
        raise outage, "not yet" if message.key == "k7" && number == 5 && released.empty?
        raise "never" if message.key == "k3" && number == 10
        raise "at first" if message.key == "k5" && (number % 10).zero? && attempt < 3

        account.handled(message.key, number, Thread.current)
      end
    end
  end
  configure(max_messages: 100, concurrency: 4, commit_interval: 0.1, pause_timeout: 0.02, pause_max_timeout: 0.2)
  parked = Thread::Queue.new
  resumed = Thread::Queue.new
  dead = Thread::Queue.new
  {"key.parked" => parked, "key.resumed" => resumed}.each do |event, queue|
    Guildhall::Kafka.instrumentation.subscribe(event) { |one| queue << one.payload[:key] }
  end
  Guildhall::Kafka.instrumentation.subscribe("dead_letter_queue.dispatched") { |one| dead << one.payload[:offset] }
  dead_letters = topic(name: "dead")
  routes do
    topic(name) do
      consumer consumer
      ordering :key
      retries transient: [outage]
      dead_letter_queue topic: dead_letters, max_retries: 3
    end
  end
  start
  eventually("all keys but one") do
    account.dead_lettered("k3", 10) if dead.size.positive? && dead.pop
    account.settled == (keys * each) - 25
  end
  eventually("the parked key is listed") { Guildhall::Kafka.application.parked_keys.any? }
  rows = []
  eventually("only the parked key") { (rows = Guildhall::Kafka.application.parked_keys).size == 1 && rows.first.messages == 25 }
  equal([group, name, 0, "k7", (5 * keys) + 7], rows.first.to_h.values_at(:group, :topic, :partition, :key, :offset), "parked")
  equal([(5 * keys) + 7], committed(name), "committed while a key waits")
  released << true
  eventually_complete
  stop
  equal([keys * each], committed(name), "committed")
  equal(keys * each, account.consumed + 1, "handled once")
  parked = drain(parked)
  equal(%w[k3 k5 k7], parked.uniq.sort, "parked")
  equal(parked.sort, drain(resumed).sort, "resumed")
  notes << "#{parked.size} times parked"
end
