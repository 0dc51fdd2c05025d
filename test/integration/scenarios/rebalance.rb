# frozen_string_literal: true

# broker: real (the embedded one refuses commits while a group rebalances)
#
# Proves that when another member joins and leaves, in mid-batch, every message is handled, in order within its partition
# and (work in progress being finished before a partition is given up) none twice; that `revoked` is called for what
# goes; and that no thread, partition or file descriptor is left over.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 4)
  seen = Array.new(4) { [] }
  other = Array.new(4) { [] }
  revoked = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    const_set(:REVOKED, revoked)
    def consume
      messages.each do |message|
        sleep(0.001)
        self.class::SEEN[partition] << [message.offset, message.payload]
      end
    end

    def revoked
      self.class::REVOKED << partition
    end
  end
  kafka = {"bootstrap.servers": servers, "auto.offset.reset": "earliest",
           **Scenario.membership("partition.assignment.strategy": ENV.fetch("STRATEGY", "range"))}
  configure(kafka:, max_messages: 20, commit_interval: 0.2)
  routes { topic(name) { consumer(consumer) } }
  start
  eventually("assigned") { Guildhall::Kafka.application.partitions.size == 4 }
  count = 0
  producing = Thread.new do
    client(:producer) do |producer|
      until Thread.current[:stop]
        producer.produce(topic: name, payload: count.to_s, partition: count % 4).wait
        count += 1
        sleep(0.0005)
      end
    end
  end
  eventually("first messages") { seen.sum(&:size) > 100 }

  # The other member, by hand: it handles what it is given and commits it.
  joined = false
  client(:consumer, **kafka, "group.id": group, "enable.auto.commit": false, "enable.auto.offset.store": false) do |member|
    member.subscribe(name)
    limit = now + 15
    until (joined && now > limit) || now > limit + 30
      message = member.poll(100) or next
      joined ||= (limit = now + 2)
      other[message.partition] << [message.offset, message.payload]
      member.store_offset(message)
    end
    member.commit
  end
  check(joined, "the other member was given nothing")
  eventually("all back") { Guildhall::Kafka.application.partitions.size == 4 }
  producing[:stop] = true
  producing.join
  eventually("all consumed") { (seen.sum { |one| one.uniq.size } + other.sum { |one| one.uniq.size }) >= count }
  stop
  check(revoked.size >= 2, "revoked was called #{revoked.size} times")
  duplicates = 0
  4.times do |partition|
    all = seen[partition] + other[partition]
    equal((0...((count - partition + 3) / 4)).to_a, all.map(&:first).uniq.sort, "offsets of #{partition}")
    check(seen[partition].map(&:first).each_cons(2).all? { |a, b| a < b }, "order in #{partition}")
    duplicates += all.size - all.uniq.size
  end
  notes << "#{count} messages" << "#{duplicates} twice"
  equal(0, duplicates, "handled twice")
  names = Thread.list.map(&:name).compact.grep(/guildhall/)
  equal([], names, "threads left")
end
