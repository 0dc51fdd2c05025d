# frozen_string_literal: true

# stress: on both brokers, ten times as many
#
# Proves that one bad payload in a hundred does not affect the others. A payload is bad if it is not JSON, if a stage refuses it,
# if it ends the thread that runs it (a worker Ractor, or a runner once the circuit breaker is open), or if it makes the consumer
# raise or end its thread. All others are consumed once and in order; the bad ones are dead-lettered once, with their bytes, key
# and headers.
require_relative "../support/scenario"

# The stages of this scenario.
module Stages
  VALID = Guildhall.validate { |doc| doc["refused"] ? ["is refused"] : [] }
  ALL = Guildhall::JSON.lazy >> VALID >> Guildhall.map { |doc| doc["deadly"] ? Thread.exit : doc.to_h }
end

# kind => what a dead letter says of it: attempts and error. Only what is wrong with the bytes goes there without an attempt.
KINDS = {
  broken: [0, "Guildhall::JSON::ParseError"],
  refused: [0, "Guildhall::ValidationError"],
  deadly: [2, "Guildhall::WorkerDiedError"],
  raises: [2, "RuntimeError"],
  exits: [2, "Guildhall::TaskError"]
}.freeze

# Handles what can be handled.
class Eater < Guildhall::Kafka::Consumer
  def consume
    messages.each do |message|
      raise "inedible" if message.payload["raises"]

      Thread.exit if message.payload["exits"]
      self.class::ACCOUNT.handled(partition, message.offset, self)
      mark_as_consumed(message)
    end
  end
end

Scenario.run do
  partitions = 3
  count = long? ? 30_000 : 3_000
  name = topic(partitions:)
  dead = topic(name: "dead", partitions:)
  kinds = ->(number) { KINDS.keys[(number / 100) % KINDS.size] if number % 100 == 42 }
  payload = lambda do |number|
    kind = kinds.call(number)
    kind == :broken ? "{\"number\": #{number}, \xFF\x00".b : %({"number": #{number}#{%(, "#{kind}": true) if kind}, "text": "#{"x" * 500}"})
  end
  produce(name, (0...(count * partitions)).map do |index|
    number = index / partitions
    {payload: payload.call(number), key: "k#{number}", headers: {"h" => "v#{number}"}, partition: index % partitions}
  end)
  partitions.times { |partition| account.produced(partition, count) }
  Eater.const_set(:ACCOUNT, account)
  configure(max_messages: 200, pause_timeout: 0.02, pause_max_timeout: 0.1, librdkafka: {"session.timeout.ms": 30_000})
  Guildhall::Kafka.instrumentation.subscribe("dead_letter_queue.dispatched") do |event|
    account.dead_lettered(*event.payload.values_at(:partition, :offset))
  end
  routes do
    topic(name) do
      consumer Eater
      deserializer Stages::ALL
      deserializing parallel: true
      manual_offset_management true
      dead_letter_queue topic: dead, max_retries: 1, dispatch_undecodable: true
    end
  end
  start
  eventually_complete
  eventually("committed") { committed(name, partitions:) == [count] * partitions }
  stop
  bad = (0...count).select { |number| kinds.call(number) }
  equal(partitions * (count - bad.size), account.consumed, "consumed once")

  dead_letters = []
  client(:consumer, "group.id": "letters-#{group}", "auto.offset.reset": "earliest") do |consumer|
    consumer.subscribe(dead)
    eventually("dead letters") do
      dead_letter = consumer.poll(100)
      dead_letters << dead_letter if dead_letter
      dead_letter.nil? && dead_letters.size >= partitions * bad.size
    end
  end
  found = dead_letters.map { |one| [*one.headers.values_at("source_partition", "source_offset").map(&:to_i), one] }.sort_by { |one| one.first(2) }
  expected = (0...partitions).to_a.product(bad)
  reported = found.map { |one| one.first(2) }
  check(reported == expected, "dead letters: #{(expected - reported).first(5)} are missing, #{reported.size - reported.uniq.size} are there twice")
  found.each do |_, number, dead_letter|
    check(payload.call(number).b == dead_letter.payload.b, "the bytes of #{number}: #{dead_letter.payload.inspect}")
    attempts, error = KINDS.fetch(kinds.call(number))
    reported = dead_letter.headers.values_at("source_topic", "source_attempts", "source_error_class", "h")
    equal(["k#{number}", name, attempts.to_s, error, "v#{number}"], [dead_letter.key, *reported], "dead letter of #{number}")
  end
  notes << "#{bad.size * partitions} bad payloads"
end
