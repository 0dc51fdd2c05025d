# frozen_string_literal: true

# Proves that a message on which the consumer keeps failing goes to the dead letter queue after the retries it has, with
# its bytes, key, headers and origin; that all others are consumed once and in order; that non-retryable errors go there
# at once; and that payloads that cannot be decoded never reach the consumer where the route says so. An empty key and a
# payload bigger than what a producer takes by default are no obstacles.
require_relative "../support/scenario"

class Hopeless < StandardError; end

Scenario.run do
  name = topic
  dead = topic(name: "dead")
  payloads = (0...100).map { |i| i == 70 ? "{broken" : %({"i": #{i}}) }
  payloads[50] = %({"i": 50, "text": "#{"x" * 1_020_000}"})
  keys = (0...100).map { |i| i == 30 ? "" : "k#{i}" }
  produce(name, payloads.each_with_index.map { |payload, i| {payload:, key: keys[i], headers: {"h" => "v#{i}"}, partition: 0} })
  seen = []
  tries = Hash.new(0)
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    const_set(:TRIES, tries)
    def consume
      messages.each do |message|
        i = message.payload["i"]
        self.class::TRIES[i] += 1
        raise "never" if i == 30
        raise Hopeless, "at once" if i == 50

        self.class::SEEN << i
        mark_as_consumed(message)
      end
    end
  end
  configure(max_messages: 20, pause_timeout: 0.02)
  routes do
    topic(name) do
      consumer consumer
      deserializer Guildhall::JSON.lazy
      manual_offset_management true
      retries non_retryable: [Hopeless]
      dead_letter_queue topic: dead, max_retries: 2, dispatch_undecodable: true
    end
  end
  start
  eventually("all consumed") { seen.size >= 97 }
  stop
  equal((0...100).to_a - [30, 50, 70], seen, "consumed")
  equal([3, 1, 0], tries.values_at(30, 50, 70), "tries")
  equal([100], committed(name), "committed")

  dead_letters = []
  client(:consumer, "group.id": "letters-#{group}", "auto.offset.reset": "earliest") do |consumer|
    consumer.subscribe(dead)
    eventually("dead letters") do
      dead_letter = consumer.poll(100)
      dead_letters << dead_letter if dead_letter
      dead_letters.size == 3
    end
  end
  dead_letters = dead_letters.sort_by(&:key)
  check(payloads.values_at(30, 50, 70) == dead_letters.map(&:payload), "bytes")
  equal(["", "k50", "k70"], dead_letters.map(&:key), "keys")
  equal(%w[RuntimeError Hopeless Guildhall::JSON::ParseError], dead_letters.map { |dead_letter| dead_letter.headers["source_error_class"] }, "errors")
  origin = dead_letters.first.headers.values_at("source_topic", "source_partition", "source_offset", "source_attempts", "h")
  equal([name, "0", "30", "3", "v30"], origin, "origin")
end
