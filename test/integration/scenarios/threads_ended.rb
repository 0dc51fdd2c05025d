# frozen_string_literal: true

# Proves that a consumer, or a deserializer in a consumer's thread, that ends its thread (Thread.exit) is a consumer that
# failed: the message is retried and then dead-lettered, the thread is replaced, and nothing else is lost, in order or with
# virtual partitions.
require_relative "../support/scenario"

# Ends the thread that asks for some payloads.
module Ending
  def self.call(payload)
    payload.to_i % 50 == 20 ? Thread.exit : payload.to_i
  end
end

# Ends its thread at others.
class Quitter < Guildhall::Kafka::Consumer
  SEEN = Thread::Queue.new

  def consume
    messages.each do |message|
      Thread.exit if message.payload % 50 == 40
      SEEN << [topic.name, message.offset]
      mark_as_consumed(message)
    end
  end
end

Scenario.run do
  count = 200
  plain, virtual = Array.new(2) { topic }
  [plain, virtual].each { |name| produce(name, (0...count).map { |i| {payload: i.to_s, key: "k#{i % 8}", partition: 0} }) }
  configure(concurrency: 2, max_messages: 30, pause_timeout: 0.01)
  routes do
    [plain, virtual].each do |name|
      topic(name) do
        consumer Quitter
        deserializer Ending
        deserializing parallel: false
        virtual_partitions partitioner: ->(message) { message.key }, max: 3 if name == virtual
        dead_letter_queue topic: false, max_retries: 2
      end
    end
  end
  start
  expected = (0...count).reject { |offset| [20, 40].include?(offset % 50) }
  eventually("all committed") { [plain, virtual].all? { |name| committed(name) == [count] } }
  stop
  seen = drain(Quitter::SEEN)
  [plain, virtual].each do |name|
    equal(expected, seen.filter_map { |topic, offset| offset if topic == name }.sort, "handled, none twice (#{name})")
  end
  equal(expected, seen.filter_map { |topic, offset| offset if topic == plain }, "order")
  classes = drain(errors).map { |error| error[:error].class.name }.uniq
  equal(%w[Guildhall::TaskError Guildhall::WorkerDiedError], classes.sort, "errors")
end
