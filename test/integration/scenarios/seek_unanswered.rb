# frozen_string_literal: true

# Proves that a seek is not forgotten when the broker does not answer where that is: it is reported, retried, and done once
# there is an answer, without a rebalance; the other partition goes on meanwhile. A later seek takes its place; an argument
# that is none raises where it was given.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 2)
  proxy = Proxy.new(servers)
  seen = Array.new(2) { [] }
  steps = Thread::Queue.new
  refused = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    const_set(:STEPS, steps)
    const_set(:REFUSED, refused)
    def consume
      messages.each { |message| self.class::SEEN[partition] << message.offset }
      seek(self.class::STEPS.pop) unless partition == 1 || self.class::STEPS.empty?
    rescue Guildhall::ArgumentError => error
      self.class::REFUSED << error.message
    end
  end
  configure(servers: proxy.bootstrap_servers, librdkafka: {"session.timeout.ms": 30_000})
  rebalances = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("rebalance.partitions_revoked") { rebalances << true }
  routes { topic(name) { consumer(consumer) } }
  produce(name, (0...20).map { |i| {payload: i.to_s, partition: i % 2} })
  start
  eventually("all seen") { seen.map(&:size) == [10, 10] }
  partition = Guildhall::Kafka.application.partitions.find { |one| one.number.zero? }

  proxy.swallow_answers(Proxy::LIST_OFFSETS)
  steps << :earliest
  produce(name, [{payload: "10", partition: 0}])
  eventually("reported") { errors.size >= 2 }
  equal(["seek"], drain(errors).map { |payload| payload[:type] }.uniq, "errors")
  check(!partition.idle_behind?, "it looks idle while it is to seek")
  produce(name, [{payload: "10", partition: 1}])
  eventually("the other partition goes on") { seen[1].last == 10 }
  equal((0..10).to_a, seen[0], "seen before the seek")
  proxy.open
  eventually("seen again") { seen[0].size == 22 }
  equal([*0..10, *0..10], seen[0], "seen")

  proxy.swallow_answers(Proxy::LIST_OFFSETS)
  steps << :latest
  produce(name, [{payload: "11", partition: 0}])
  eventually("asked in vain") { drain(errors).any? { |payload| payload[:to] == :latest } }
  partition.seek(5)
  eventually("the later seek is done") { seen[0].last(7) == (5..11).to_a }
  proxy.open
  steps << "yesterday"
  produce(name, [{payload: "12", partition: 0}])
  check(refused.pop(timeout: 60).to_s.include?("not \"yesterday\""), "no error")
  eventually("the next message") { seen[0].last == 12 }
  stop
  equal([13, 11], committed(name, partitions: 2), "committed")
  equal(1, rebalances.size, "rebalances: the end is the only one")
  notes << "#{proxy.swallowed} answers swallowed"
  proxy.close
end
