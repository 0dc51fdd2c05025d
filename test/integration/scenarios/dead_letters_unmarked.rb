# frozen_string_literal: true

# Proves the documented default, a consumer that marks nothing: of a batch in which two messages fail, only those two go to
# the dead letter topic, each after attempts of its own, whether messages are handled one by one or in slices; all others are
# handled, and everything is committed.
require_relative "../support/scenario"

BAD = [7, 437].freeze

# One by one.
class Singly < Guildhall::Kafka::Consumer
  HANDLED = Thread::Queue.new
  def consume = messages.each { |message| BAD.include?(message.offset) ? raise("bad") : HANDLED << message.offset }
end

# All or none of a slice, as a bulk insert does.
class Slices < Guildhall::Kafka::Consumer
  HANDLED = Thread::Queue.new
  def consume
    messages.map(&:offset).each_slice(50) { |offsets| offsets.intersect?(BAD) ? raise("bad") : offsets.each { |offset| HANDLED << offset } }
  end
end

Scenario.run do
  [Singly, Slices].each do |consumer|
    name = topic
    dead = topic(name: "dead")
    produce(name, (0...500).map { |i| {payload: i.to_s, partition: 0} })
    Guildhall::Kafka.reset
    configure(pause_timeout: 0.02, pause_max_timeout: 0.1, group_id: "#{group}-#{consumer.name.downcase}")
    routes do
      topic(name) do
        consumer consumer
        dead_letter_queue topic: dead, max_retries: 3
      end
    end
    start
    eventually("all done") { Guildhall::Kafka.application.partitions.first&.lag&.zero? }
    stop
    dead_letters = Guildhall::Kafka.application.dead_letters(dead) { |one| [].tap { |list| one.each(0, one.ranges[0]) { |dead_letter| list << dead_letter } } }
    equal(BAD, dead_letters.map(&:source_offset), "dead letters of #{consumer}")
    equal([4, 4], dead_letters.map(&:attempts), "attempts of #{consumer}")
    equal([*0...500] - BAD, drain(consumer::HANDLED).uniq.sort, "handled by #{consumer}")
    equal([500], committed(name, group: "#{group}-#{consumer.name.downcase}"), "committed by #{consumer}")
  end
end
