# frozen_string_literal: true

# Workers that die, a pool without room, results that cannot be shared, a payload that never ends in a worker: consumers get their
# payloads. Raw payloads that the consumer has replaced are decoded in place.
require_relative "../support/karafka_application"

module Deadly
  def self.call(payload) = payload == "100" && !Ractor.main? ? Thread.exit : payload
end

module Unshareable
  def self.call(payload) = [payload, Mutex.new]
end

module Endless
  def self.call(payload) = payload == "100" && !Ractor.main? ? sleep : payload
end

COUNT = 300
TOPICS = {Deadly => "deadly", Unshareable => "unshareable", Endless => "endless"}.transform_values { |name| KarafkaApplication.topic(name) }
REPLACED = KarafkaApplication.topic("replaced")

class Collector < Karafka::BaseConsumer
  def consume
    messages.each { |message| KarafkaApplication::RESULTS << [topic.name, Array(message.payload).first] }
  end
end

class Replacing < Karafka::BaseConsumer
  def consume
    messages.each do |message|
      message.raw_payload = "[#{message.raw_payload}]" if message.offset.odd?
      KarafkaApplication::RESULTS << [topic.name, message.payload]
    end
  end
end

POOL = Guildhall::Pool.new(workers: 2, capacity: 150, logger: Logger.new(File::NULL), limits: Guildhall::Pool::Limits.new(exit_timeout: 0))

class App < Karafka::App
  KarafkaApplication.setup(self, concurrency: 3, max_messages: 100)
  Guildhall::Karafka.setup do |config|
    config.pool = POOL
    config.parallel = true
    config.deadline = 0.5
  end
  routes.draw do
    TOPICS.each do |task, name|
      topic(name) do
        consumer Collector
        deserializer Guildhall::Karafka.parallel(task)
      end
    end
    topic(REPLACED) do
      consumer Replacing
      deserializer Guildhall::Karafka.parallel(Guildhall::JSON)
    end
  end
end

numbers = Array.new(COUNT, &:to_s)
[*TOPICS.values, REPLACED].each { |name| KarafkaApplication.produce(name, numbers) }
KarafkaApplication.run do
  results = KarafkaApplication.results(4 * COUNT).group_by(&:first).transform_values { |some| some.map(&:last) }
  TOPICS.each_value { |name| KarafkaApplication.equal(numbers, results[name], name) }
  KarafkaApplication.equal(Array.new(COUNT) { |id| id.odd? ? [id] : id }, results[REPLACED], REPLACED)
end
