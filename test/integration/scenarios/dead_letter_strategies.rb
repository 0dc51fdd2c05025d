# frozen_string_literal: true

# Proves what the strategies of a dead letter queue do: `:all` dead-letters the rest of the batch, and a callable decides for
# each failure whether to retry, to dispatch or to skip; messages before the failing one are handled once, those behind
# it are not blocked.
require_relative "../support/scenario"

Scenario.run do
  decisions = []
  deciding = lambda do |errors, attempt|
    decisions << [errors.first.message, attempt]
    {"again" => attempt < 3 ? :retry : :dispatch, "skip" => :skip}.fetch(errors.first.message)
  end
  {all: :all, callable: deciding}.each do |label, strategy|
    name = topic
    dead = topic(name: "dead")
    produce(name, (0...30).map { |i| {payload: i.to_s, partition: 0} })
    seen = []
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      const_set(:SEEN, seen)
      def consume
        messages.each do |message|
          raise "again" if message.offset == 13
          raise "skip" if message.offset == 25

          self.class::SEEN << message.offset
          mark_as_consumed(message)
        end
      end
    end
    Guildhall::Kafka.reset
    configure(max_messages: 10, pause_timeout: 0.02, group_id: "#{group}-#{label}")
    routes do
      topic(name) do
        consumer consumer
        dead_letter_queue(topic: dead, max_retries: 1, strategy:)
      end
    end
    start
    lost = label == :all ? [*13..19, *25..29] : [13, 25]
    eventually("all done") { Guildhall::Kafka.application.partitions.first&.lag&.zero? }
    stop
    equal((0...30).to_a - lost, seen, "consumed with #{label}")
    expected = label == :all ? lost : [13]
    dead_letters = Guildhall::Kafka.application.dead_letters(dead) { |one| [].tap { |list| one.each(0, one.ranges[0]) { |dead_letter| list << dead_letter.source_offset } } }
    equal(expected, dead_letters, "dead letters with #{label}")
  end
  equal([["again", 1], ["again", 2], ["again", 3], ["skip", 1]], decisions, "what was decided")
end
