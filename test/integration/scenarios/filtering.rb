# frozen_string_literal: true

# Proves that a pipeline's select leaves messages out before the consumer sees them, that offsets advance over them (also
# where nothing is left of a batch, without a call of `consume`), that with manual marks what was left out right behind a
# marked message is stored with it, and that failures and tombstones stay with their neighbours.
require_relative "../support/scenario"

# The stages of this scenario.
module Stages
  EVERY_TENTH = Guildhall.select { |doc| (doc["i"] % 10).zero? && doc["i"] < 500 }
  TIMES = Guildhall.map { |doc, metadata| [doc["i"], metadata.offset, metadata.headers["h"]].freeze }
  ALL = Guildhall::JSON.lazy >> EVERY_TENTH >> TIMES
end

Scenario.run do
  count = 1_000
  name = topic
  bad = {111 => nil, 222 => "{"}
  produce(name, (0...count).map { |i| {payload: bad.fetch(i, %({"i": #{i}})), partition: 0, headers: {"h" => "v#{i}"}} })
  seen = []
  failed = []
  dead = []
  dropped = []
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    const_set(:FAILED, failed)
    const_set(:DEAD, dead)
    const_set(:DROPPED, dropped)
    def consume
      messages.each_decoded { |message, payload| self.class::SEEN << [message.offset, payload] }
      self.class::FAILED.concat(messages.failures)
      self.class::DEAD.concat(messages.tombstones)
      self.class::DROPPED << messages.dropped
      mark_as_consumed(messages.last)
    end
  end
  configure(max_messages: 50)
  skipped = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("consumer.skipped") { |event| skipped << event.payload }
  routes do
    topic(name) do
      consumer consumer
      deserializer Stages::ALL
      manual_offset_management true
    end
  end
  start
  eventually("all done") do
    dropped.concat(drain(skipped).map { |batch| batch[:dropped] })
    dropped.sum + seen.size + failed.size + dead.size == count
  end
  stop
  equal((0...50).map { |i| [i * 10, [i * 10, i * 10, "v#{i * 10}"]] }, seen, "kept")
  reported = failed.map { |message| [message.offset, message.failure.stage, message.failure.error_class] }
  equal([[222, :decode, "Guildhall::JSON::ParseError"]], reported, "failed")
  equal([111], dead.map(&:offset), "tombstones")
  equal(count - 52, dropped.sum, "left out")
  equal([count], committed(name), "committed")
end
