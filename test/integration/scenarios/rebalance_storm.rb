# frozen_string_literal: true

# broker: real (the embedded one refuses commits while a group rebalances)
# stress: a minute of it
#
# Proves that while members, processes of their own, join and leave every two seconds, under a steady stream of messages,
# nothing is lost and nothing is handled out of order, by any of them.
require_relative "../support/scenario"

Scenario.run do
  partitions = 6
  seconds = long? ? 60 : 6
  name = topic(partitions:)
  kafka = Scenario.membership("partition.assignment.strategy": ENV.fetch("STRATEGY", "range"))
  consumer = accounting(pause: 0.001)
  configure(librdkafka: kafka, max_messages: 20, commit_interval: 0.2)
  routes { topic(name) { consumer(consumer) } }
  start
  eventually("assigned") { Guildhall::Kafka.application.partitions.size == partitions }
  producing = Thread.new do
    client(:producer) do |producer|
      count = 0
      until Thread.current[:stop]
        producer.produce(topic: name, payload: count.to_s, partition: count % partitions).wait
        account.produced(count % partitions, 1)
        count += 1
        sleep(0.001)
      end
    end
  end
  limit = now + seconds
  members = []
  joined = 0
  while now < limit || account.lives <= partitions # a process may take seconds to start
    members << member(name, pause: 0.001, librdkafka: kafka, max_messages: 20, commit_interval: 0.2)
    joined += 1
    sleep(2)
    equal(0, members.shift.leave, "exit status of a member") if members.size > 2
  end
  members.each { |member| equal(0, member.leave, "exit status of a member") }
  producing[:stop] = true
  producing.join
  eventually_complete
  stop
  check(account.lives > partitions, "no member was given anything")
  notes << "#{joined} members joined and left" << "#{account.lives} assignments"
end
