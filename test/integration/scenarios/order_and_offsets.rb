# frozen_string_literal: true

# Proves that every message of every partition is consumed once, in the order of its offsets, with its key, headers
# and timestamp, that the committed offsets are the partitions' ends, and that a second run has nothing to do.
require_relative "../support/scenario"

Scenario.run do
  count = 3_000
  name = topic(partitions: 3)
  sent = (0...count).map do |i|
    {payload: %({"i": #{i}}), key: "k#{i}", partition: i % 3, headers: {"h" => "v#{i}", "twice" => %w[a b]}}
  end
  produce(name, sent)
  seen = Array.new(3) { [] }
  errors = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    const_set(:ERRORS, errors)
    def consume
      messages.each do |message|
        i = message.payload["i"]
        good = message.key == "k#{i}" && message.headers == {"h" => "v#{i}", "twice" => %w[a b]} &&
               message.timestamp.is_a?(Time) && i % 3 == message.partition && message.raw_payload == %({"i": #{i}})
        self.class::ERRORS << message.inspect unless good
        self.class::SEEN[partition] << message.offset
      end
    end
  end
  drawing = proc { topic(name) { consumer(consumer) && deserializer(Guildhall::JSON.lazy) } }
  configure
  routes(&drawing)
  start
  eventually("all consumed") { seen.sum(&:size) >= count }
  stop
  equal([], Array.new(errors.size) { errors.pop }, "errors")
  seen.each { |offsets| equal((0...(count / 3)).to_a, offsets, "offsets") }
  equal([count / 3] * 3, committed(name, partitions: 3), "committed")

  restart(&drawing)
  eventually("assigned") { Guildhall::Kafka.application.partitions.size == 3 }
  produce(name, [{payload: %({"i": 3000}), key: "k3000", partition: 0, headers: {"h" => "v3000", "twice" => %w[a b]}}])
  eventually("the one more") { seen.sum(&:size) == count + 1 }
  stop
  equal(count + 1, seen.sum(&:size), "consumed in all")
end
