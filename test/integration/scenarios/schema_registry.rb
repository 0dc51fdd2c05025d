# frozen_string_literal: true

# Proves that a codec's `prepare` is called before a batch goes to the workers, so that they find the schemas that it
# fetches, and that while a registry does not answer messages are neither lost nor failed for good.
require_relative "../support/scenario"
require_relative "../../support/registry_server"
require "guildhall/avro"
require "guildhall/schema_registry"

Scenario.run do
  server = RegistryServer.new
  server.add(1, {type: "string"})
  server["/schemas/ids/2"] = [500, {message: "not today"}]
  name = topic
  text = ->(schema, dead_letter) { ["\0", [schema].pack("N"), "\x02", dead_letter].join.b }
  seen = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    def consume
      messages.each { |message| self.class::SEEN << message.payload }
    end
  end
  registry = Guildhall::SchemaRegistry.new(server.url, retries: 0)
  configure
  routes do
    topic(name) do
      consumer(consumer)
      deserializer(Guildhall::Avro::Confluent.new(registry))
      deserializing parallel: true
    end
  end
  produce(name, Array.new(50) { {payload: text.call(1, "a"), partition: 0} })
  start
  eventually("fifty are there") { seen.size == 50 }
  equal(["a"], drain(seen).uniq, "payloads")
  equal(["GET /schemas/ids/1"], server.requests.uniq, "what was asked of the registry")
  pool = Guildhall::Kafka.application.instance_variable_get(:@own_pool)
  eventually("the workers decoded all") { pool.stats.fetch(:by_worker).sum { |_, done| done.fetch(:payloads) } == 50 }

  produce(name, Array.new(5) { {payload: text.call(2, "b"), partition: 0} })
  reported = []
  reported << errors.pop(timeout: 60).then { |error| [error[:type], error[:error].class] } until reported.last&.first == "consumer.consume"
  expected = %w[prepare consumer.consume].map { |type| [type, Guildhall::SchemaRegistry::Error] }
  equal(expected, reported.uniq, "what is reported meanwhile") # they may have come in several batches, each of which is prepared
  server.add(2, {type: "string"})
  eventually("all are there") { seen.size == 5 }
  stop
  equal([55], committed(name), "committed")
ensure
  server&.close
end
