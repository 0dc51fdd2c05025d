# frozen_string_literal: true

# A payload that is malformed raises its own error where it is asked for, and for its message alone; each attempt sees the same, and then
# it goes to the dead letter queue. The others are consumed, in order.
require_relative "../support/karafka_application"

NAME, DEAD = %w[orders dead].map { |name| KarafkaApplication.topic(name) }
ATTEMPTS = Thread::Queue.new

class Orders < Karafka::BaseConsumer
  def consume
    messages.each do |message|
      KarafkaApplication::RESULTS << message.payload["id"]
      mark_as_consumed(message)
    rescue Guildhall::JSON::ParseError => error
      ATTEMPTS << [message.offset, attempt, error.class, error.message]
      raise
    end
  end
end

class Dead < Karafka::BaseConsumer
  def consume = messages.each { |message| KarafkaApplication::RESULTS << "dead: #{message.raw_payload}" }
end

class App < Karafka::App
  KarafkaApplication.setup(self, concurrency: 2)
  Guildhall::Karafka.setup { |config| config.parallel = true }
  routes.draw do
    topic(NAME) do
      consumer Orders
      deserializer Guildhall::Karafka.parallel(Guildhall::JSON)
      dead_letter_queue topic: DEAD, max_retries: 2
    end
    topic(DEAD) { consumer Dead }
  end
end

KarafkaApplication.produce(NAME, Array.new(300) { |id| id == 120 ? "{" : %({"id":#{id}}) })
KarafkaApplication.run do
  results = KarafkaApplication.results(300)
  KarafkaApplication.equal(["dead: {"], results.grep(String), "dead letters")
  KarafkaApplication.equal((0...300).to_a - [120], results.grep(Integer), "consumed")
  attempts = Array.new(ATTEMPTS.size) { ATTEMPTS.pop }
  KarafkaApplication.equal([[120, 1], [120, 2], [120, 3]], attempts.map { |attempt| attempt.first(2) }, "attempts")
  KarafkaApplication.equal(1, attempts.map { |attempt| attempt.drop(2) }.uniq.size, "errors that attempts have seen")
  KarafkaApplication.check("nothing was decoded by workers") { Guildhall::Karafka.stats[:taken] > 100 }
end
