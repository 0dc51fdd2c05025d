# frozen_string_literal: true

# Proves that with delivery :at_most_once offsets are committed before `consume` is called, and that a consumer that
# raises is not called again with the same messages.
require_relative "../support/scenario"

Scenario.run do
  name = topic
  produce(name, (0...50).map { |i| {payload: i.to_s, partition: 0} })
  seen = []
  committed_before = Thread::Queue.new
  scenario = self
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    const_set(:BEFORE, committed_before)
    const_set(:SCENARIO, scenario)
    def consume
      self.class::BEFORE << [messages.last.offset + 1, self.class::SCENARIO.committed(topic.name)] if messages.first.offset.zero?
      messages.each do |message|
        self.class::SEEN << message.offset
        raise "lost" if message.offset == 25
      end
    end
  end
  configure(max_messages: 10)
  routes do
    topic(name) do
      consumer consumer
      delivery :at_most_once
    end
  end
  start
  eventually("all tried") { seen.include?(49) }
  stop
  equal(seen.uniq, seen, "each at most once")
  check(seen.size < 50, "the batch that failed was not given up")
  ended, committed = committed_before.pop
  equal([ended], committed, "committed beforehand")
end
