# frozen_string_literal: true

# Proves that several consumer groups in one process each get everything, that a pattern takes every topic that matches,
# and that a topic's own librdkafka settings and initial offset hold for it alone.
require_relative "../support/scenario"

Scenario.run do
  first = topic(name: "events-a")
  second = topic(name: "events-b")
  other = topic(name: "other")
  [first, second, other].each { |name| produce(name, (0...10).map { |i| {payload: i.to_s, partition: 0} }) }
  seen = Hash.new { |hash, key| hash[key] = [] }
  lock = Mutex.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    const_set(:LOCK, lock)
    def consume
      messages.each { |message| self.class::LOCK.synchronize { self.class::SEEN[[topic.group, topic_name]] << message.offset } }
    end
  end
  group = self.group
  expression = /\Aevents-.*#{@id}/
  configure
  routes do
    pattern(expression) { consumer consumer }
    consumer_group "#{group}-2" do
      topic(first) { consumer consumer }
      topic(other) do
        consumer consumer
        initial_offset "latest"
        kafka("fetch.wait.max.ms": 50)
      end
    end
  end
  start
  eventually("what was there") { lock.synchronize { seen.values.sum(&:size) } >= 30 }
  eventually("the one at its end is assigned") { Guildhall::Kafka.application.partitions.any? { |one| one.name == other } }
  # Where its end is, the broker is asked after the assignment: what is produced before the answer is not new.
  eventually("a new one") do
    produce(other, [{payload: "new", partition: 0}])
    sleep(0.5)
    lock.synchronize { seen.key?(["#{group}-2", other]) }
  end
  stop
  ten = (0...10).to_a
  uniq = seen.sort.to_h.transform_values(&:uniq)
  latest = uniq.delete(["#{group}-2", other])
  equal({[group, first] => ten, [group, second] => ten, ["#{group}-2", first] => ten}, uniq, "consumed by group and topic")
  check(latest.first >= 10 && latest == [*latest.first..latest.last], "consumed from the end on: #{latest}")
end
