# frozen_string_literal: true

# Embedded: started and stopped beside other code. The plug-in's own workers and threads end with it.
require_relative "../support/karafka_application"

NAME = KarafkaApplication.topic("embedded")

class Collector < Karafka::BaseConsumer
  def consume = messages.each { |message| KarafkaApplication::RESULTS << message.payload["id"] }
end

class App < Karafka::App
  KarafkaApplication.setup(self)
  Guildhall::Karafka.setup do |config|
    config.concurrency = 1
    config.parallel = true
  end
  routes.draw do
    topic(NAME) do
      consumer Collector
      deserializer Guildhall::Karafka.parallel(Guildhall::JSON)
    end
  end
end

KarafkaApplication.produce(NAME, Array.new(300) { |id| %({"id":#{id}}) })
Karafka::Embedded.start
KarafkaApplication.equal((0...300).to_a, KarafkaApplication.results(300), "consumed")
KarafkaApplication.check("no worker") { Ractor.count == 2 }
KarafkaApplication.check("not decoded by workers") { Guildhall::Karafka.stats[:taken] > 200 }
Karafka::Embedded.stop
KarafkaApplication.eventually("workers have ended") { Ractor.count == 1 }
puts "ok"
