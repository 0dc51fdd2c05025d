# frozen_string_literal: true

# A consumer that reads no payload: what workers have decoded goes with its messages, batch after batch.
require_relative "../support/karafka_application"

PARTITIONS = 2
COUNT = 6_000
BATCH = 100
NAME = KarafkaApplication.topic("unread", partitions: PARTITIONS)
KEPT = Thread::Queue.new # how many results there were after each batch
Made = Struct.new(:text)

module Own
  def self.call(payload) = Made.new(payload * 100)
end

class Careless < Karafka::BaseConsumer
  def consume
    messages.each { |message| KarafkaApplication::RESULTS << message.offset }
    GC.start
    KEPT << ObjectSpace.each_object(Made).count
  end
end

class App < Karafka::App
  KarafkaApplication.setup(self, concurrency: 2, max_messages: BATCH)
  Guildhall::Karafka.setup do |config|
    config.concurrency = 1
    config.parallel = true
  end
  routes.draw do
    topic(NAME) do
      consumer Careless
      deserializer Guildhall::Karafka.parallel(Own)
    end
  end
end

KarafkaApplication.produce(NAME, Array.new(COUNT) { |id| "payload #{id}" }, partitions: PARTITIONS)
KarafkaApplication.run do
  KarafkaApplication.results(COUNT)
  counts = Array.new(KEPT.size) { KEPT.pop }
  KarafkaApplication.check("only #{counts.size} batches") { counts.size > 20 }
  # One a partition, and those that the stack of a thread still shows.
  KarafkaApplication.check("results that are kept: #{counts}") { counts.max.between?(1, BATCH * PARTITIONS * 6) }
  KarafkaApplication.check("nothing was dispatched") { Guildhall::Karafka.stats[:dispatched] > COUNT / 2 }
  KarafkaApplication.equal(0, Guildhall::Karafka.stats[:taken], "payloads that were read")
end
