# frozen_string_literal: true

# Proves that each kind of bad payload has its own error, with its position, and that its neighbours are handled: cut in
# half, invalid UTF-8, empty, not JSON, decoded but not valid, a tombstone; and that a scalar which is no value of its logical type
# comes as what it is without it. Both ways of decoding are tried: a lazy codec alone, and a pipeline whose stages run on the
# workers.
require_relative "../support/scenario"
require "guildhall/avro"
require "bigdecimal"

# The stages of this scenario.
module Stages
  HAS_ID = Guildhall.validate { |doc| doc["id"].is_a?(Integer) ? [] : ["id is no number"] }
  ALL = Guildhall::JSON.lazy >> HAS_ID >> Guildhall.map { |doc| doc["id"] }
  CODEC = Guildhall::JSON.lazy
end

GOOD = ->(id) { %({"id": #{id}, "text": "a good neighbour"}) }
# payload => stage, class and byte of the error; in the order of offsets 1, 3, 5 …
BAD = {
  GOOD.call(1)[0, 20] => [:decode, "Guildhall::JSON::ParseError", 20],
  "{\"id\": 3, \"text\": \"\xFF\"}".b => [:decode, "Guildhall::JSON::ParseError", 19],
  "" => [:decode, "Guildhall::JSON::ParseError", 0],
  "id=7" => [:decode, "Guildhall::JSON::ParseError", 0],
  '{"id": "nine"}' => [:validate, "Guildhall::ValidationError", nil]
}.freeze

PRICE = Guildhall::Avro.new({type: "bytes", logicalType: "decimal", precision: 4, scale: 2})

# Notes what became of each offset.
class Notes < Guildhall::Kafka::Consumer
  SEEN = Thread::Queue.new

  def consume
    messages.each { |message| SEEN << [message.topic, message.offset, outcome(message)] }
  end

  private

  def outcome(message)
    return :tombstone if message.tombstone?
    return message.payload unless (failure = message.failure)

    begin
      message.payload
    rescue StandardError => error
      raise "its own error is raised: #{error.class}" unless error.class.name == failure.error_class
    end
    [failure.stage, failure.error_class, failure.details[:offset]]
  end
end

Scenario.run do
  payloads = BAD.keys.each_with_index.flat_map { |bad, index| [GOOD.call(index * 2), bad] }
  payloads.push(GOOD.call(10), nil, GOOD.call(12))
  piped, decoded, priced = Array.new(3) { topic }
  prices = [PRICE.encode(BigDecimal("1.25")), "\x00", PRICE.encode(BigDecimal("2.25"))]
  produce(priced, prices.map { |payload| {payload:, partition: 0} })
  [piped, decoded].each { |name| produce(name, payloads.map { |payload| {payload:, partition: 0} }) }
  configure
  routes do
    topic(piped) do
      consumer Notes
      deserializer Stages::ALL
      deserializing parallel: true
    end
    topic(decoded) do
      consumer Notes
      deserializer Stages::CODEC
    end
    topic(priced) do
      consumer Notes
      deserializer PRICE.lazy
    end
  end
  start
  seen = []
  eventually("all seen") { seen.concat(drain(Notes::SEEN)).size == (2 * payloads.size) + prices.size }
  stop
  of = ->(name) { seen.select { |topic, *| topic == name }.map(&:last) }
  bad = BAD.values
  equal([0, bad[0], 2, bad[1], 4, bad[2], 6, bad[3], 8, bad[4], 10, :tombstone, 12], of.call(piped), "with stages")
  outcomes = of.call(decoded)
  equal([0, 2, 4, 6, 8, 10, 12], outcomes.values_at(0, 2, 4, 6, 8, 10, 12).map { |doc| doc["id"] }, "neighbours")
  equal(bad.first(4).map { |_, *rest| rest }, outcomes.values_at(1, 3, 5, 7).map { |_, *rest| rest }, "failures")
  equal([BigDecimal("1.25"), "", BigDecimal("2.25")],
    of.call(priced).map { |outcome| outcome.is_a?(Array) ? outcome[1] : outcome }, "prices")
  equal([[payloads.size], [payloads.size], [3]], [piped, decoded, priced].map { |name| committed(name) }, "committed")
  equal([], drain(errors), "errors")
end
