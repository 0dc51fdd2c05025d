# frozen_string_literal: true

# broker: real (one of its own: it forgets offsets of groups without members after a minute)
# everyday: no
#
# Proves that the marks of dead letters, which a group without members keeps, outlive the brokers' retention of offsets while a process of the
# application runs, and no page: it writes them again. Another group's offsets are forgotten meanwhile.
require_relative "../support/scenario"

Scenario.run do
  own_broker({"offsets.retention.minutes" => 1, "offsets.retention.check.interval.ms" => 2_000}) or next
  name = topic
  dead = topic(name: "dead")
  configure(renew_interval: 15)
  routes do
    topic(name) do
      consumer(Class.new(Guildhall::Kafka::Consumer) { def consume = nil })
      dead_letter_queue(topic: dead)
    end
  end
  produce(dead, Array.new(5) { |number| {payload: number.to_s, partition: 0, headers: {"source_topic" => name, "source_partition" => "0"}} })
  marks = -> { Guildhall::Kafka.application.dead_letters(dead) { |letters| letters.marks([0])[0].then { |found| (0..4).map { |offset| found.of(offset) } } } }
  Guildhall::Kafka.application.dead_letters(dead) do |letters|
    Guildhall::Kafka::Broker::Replay.new(letters).run({0 => 1...2})
    Guildhall::Kafka::Broker::Discard.new(letters).run({0 => 3...4})
  end
  Guildhall::Kafka::Broker::Session.open({"bootstrap.servers": servers, "group.id": "forgotten"}) { |session| session.commit(dead, 0, 2) }
  start
  eventually("another group's offset is forgotten", 180) { committed(dead, group: "forgotten") == [nil] }
  equal([nil, :replayed, nil, :discarded, nil], marks.call, "marks")
  stop
end
