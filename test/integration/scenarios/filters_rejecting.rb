# frozen_string_literal: true

# Proves that filters reject what they are to reject (`deduplicate`, `expire`, `sample`, one of the application's own, in the order of
# the route), that everything else is consumed once and in order, that offsets pass what was rejected, also where nothing is
# left of a batch, and that a restart begins behind it.
require_relative "../support/scenario"

# Rejects what a tenant produces that is blocked; has state.
class Tenants
  def initialize(blocked:)
    @blocked = blocked
    @calls = 0
  end

  def call(messages)
    @calls += 1
    messages.reject! { |message| message.headers["tenant"] == @blocked }
  end
end

Scenario.run do
  count = 2_000
  name = topic(partitions: 2)
  produce(name, (0...count).map { |i| {payload: i.to_s, key: "k#{i / 20}", partition: i % 2, headers: {"tenant" => (i / 20 % 5).to_s}} })
  # The first of each key in its partition; of them none of the blocked tenant; none at all of the last 400 messages.
  first = (0...count).to_a.group_by { |i| [i % 2, i / 20] }.map { |_, same| same.first }
  expected = first.reject { |i| (i / 20 % 5).zero? || i >= count - 400 }.group_by { |i| i % 2 }.transform_values { |list| list.map { |i| i / 2 } }
  seen = Array.new(2) { [] }
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    def consume = messages.each { |message| self.class::SEEN[partition] << message.offset }
  end
  route = proc do
    topic(name) do
      consumer consumer
      expire 86_400
      sample 1
      deduplicate by: :key, window: 1_000
      filter Tenants, blocked: "0"
      filter { |messages| messages.reject! { |message| Integer(message.raw_payload) >= count - 400 } }
    end
  end
  configure(max_messages: 50, commit_interval: 0.2)
  routes(&route)
  rejected = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("filter.rejected") { |event| rejected << event.payload }
  start
  eventually("offsets pass what was rejected") { committed(name, partitions: 2) == [count / 2] * 2 }
  stop
  equal(expected, seen.each_with_index.to_h { |offsets, partition| [partition, offsets] }, "what is left, in order")
  by_filter = drain(rejected).group_by { |payload| payload[:filter] }.transform_values { |list| list.sum { |payload| payload[:count] } }
  equal(count - first.size, by_filter["deduplicate"], "duplicates")
  equal(%w[Tenants block deduplicate], by_filter.keys.sort, "filters that have rejected something")
  notes << "#{count} produced, #{seen.sum(&:size)} consumed, #{by_filter.values.sum} rejected"

  seen.each(&:clear)
  restart(max_messages: 50, &route)
  produce(name, [{payload: "1", key: "another", partition: 0, headers: {"tenant" => "1"}}])
  eventually("the restart begins behind what was rejected") { seen.first.any? }
  stop
  equal([[count / 2], []], seen, "after the restart")
end
