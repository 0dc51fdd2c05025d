# frozen_string_literal: true

# Proves that segments divide the messages of one partition: each message is consumed once, those of a key by one segment and in order, the
# offsets of all segments come to the end, and what one segment fails on comes again there alone.
require_relative "../support/scenario"

Scenario.run do
  name = topic
  seen = Thread::Queue.new
  produce(name, (0...300).map { |index| {payload: index.to_s, key: "k#{index % 7}", partition: 0} })
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    def consume
      messages.each do |message|
        raise "the first time" if message.offset == 100 && attempt == 1

        self.class::SEEN << [topic.group, message.key, message.offset, attempt]
        mark_as_consumed(message)
      end
    end
  end
  configure(max_messages: 20, pause_timeout: 0.1, commit_interval: 0.2)
  id = group
  routes { consumer_group(id, segments: 3) { topic(name) { consumer(consumer) } } }
  start
  eventually("all consumed") { seen.size >= 300 }
  groups = Array.new(3) { |number| "#{group}.#{number}" }
  eventually("at the end") { groups.all? { |one| committed(name, group: one) == [300] } }
  stop
  found = drain(seen)
  equal((0...300).to_a, found.map { |one| one[2] }.sort, "each message once")
  found.group_by { |one| one[1] }.each do |key, of_key|
    equal(1, of_key.map(&:first).uniq.size, "segments of #{key}")
    offsets = of_key.map { |one| one[2] }
    equal(offsets.sort, offsets, "the order of #{key}")
  end
  check(found.map(&:first).uniq.size > 1, "several segments have keys: #{found.map(&:first).tally}")
  equal(groups.map { |one| [one, [300]] }, groups.map { |one| [one, committed(name, group: one)] }, "committed")
end
