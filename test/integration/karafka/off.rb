# frozen_string_literal: true

# Switched off, the plug-in subscribes to nothing, and payloads are what the deserializer returns, not frozen.
require_relative "../support/karafka_application"

module Own
  def self.call(payload) = {text: payload.dup, main: Ractor.main?}
end

NAME = KarafkaApplication.topic("off")
EVENT = "connection.listener.fetch_loop.received"

class Collector < Karafka::BaseConsumer
  def consume = messages.each { |message| KarafkaApplication::RESULTS << message.payload }
end

class App < Karafka::App
  KarafkaApplication.setup(self)
  BEFORE = Karafka.monitor.listeners.transform_values(&:size)
  Guildhall::Karafka.setup { |config| config.enabled = false }
  routes.draw do
    topic(NAME) do
      consumer Collector
      deserializer Guildhall::Karafka.parallel(Own)
    end
  end
end

KarafkaApplication.equal(App::BEFORE, Karafka.monitor.listeners.transform_values(&:size), "subscribers")
KarafkaApplication.produce(NAME, %w[a] * 300)
KarafkaApplication.run do
  results = KarafkaApplication.results(300)
  KarafkaApplication.check("not decoded in place") { results.all? { |result| result[:main] } }
  KarafkaApplication.check("frozen") { results.none? { |result| result.frozen? || result[:text].frozen? } }
  KarafkaApplication.equal(0, Guildhall::Karafka.stats.values.sum, "payloads that were counted")
end
