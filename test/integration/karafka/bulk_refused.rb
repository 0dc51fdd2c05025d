# frozen_string_literal: true

# What docs/from_karafka.md says of dead letters, without the plug-in: a consumer writes its batch as a whole, one message is refused, and nothing is
# marked. Then the first message of the batch becomes a dead letter, and so on, until the refused one is the first. Which ones are in a batch with
# it is up to the brokers.
ENV["PLUGIN"] = "removed"
require_relative "../support/karafka_application"

NAME, DEAD = %w[orders dead].map { |name| KarafkaApplication.topic(name) }
REFUSED = 6

class Orders < Karafka::BaseConsumer
  def consume
    raise "refused" if messages.any? { |message| message.offset == REFUSED }

    messages.each { |message| KarafkaApplication::RESULTS << message.offset }
  end
end

class Dead < Karafka::BaseConsumer
  def consume = messages.each { |message| KarafkaApplication::RESULTS << "dead #{message.raw_payload}" }
end

class App < Karafka::App
  KarafkaApplication.setup(self)
  routes.draw do
    topic(NAME) do
      consumer Orders
      dead_letter_queue topic: DEAD, max_retries: 3
    end
    topic(DEAD) { consumer Dead }
  end
end

KarafkaApplication.produce(NAME, (0..9).map(&:to_s))
KarafkaApplication.run do
  results = KarafkaApplication.results(10)
  dead = results.grep(String).map { |text| Integer(text[/\d+/]) }.sort
  KarafkaApplication.equal((0..9).to_a - dead, results.grep(Integer).sort, "written")
  KarafkaApplication.equal(REFUSED, dead.last, "the last dead letter")
  KarafkaApplication.check("no other message became a dead letter") { dead.size > 1 }
end
