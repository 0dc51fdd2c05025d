# frozen_string_literal: true

# Proves that an outage is no message's error: while a schema registry refuses credentials, is overloaded or out of reach, and while a stage cannot reach
# its database, nothing goes to the dead letters, nothing is skipped and no attempt is counted, although the route sends
# undecodable payloads there at once; it is reported. Afterwards all are consumed in order and once; only payloads whose bytes
# are wrong went to the dead letters at once, and one on which a stage raises NoMethodError after its attempts. That the registry
# cannot be asked, and that it can again, is published once for all topics.
require_relative "../support/scenario"
require_relative "../../support/registry_server"
require "guildhall/avro"
require "guildhall/schema_registry"

# Consumes in order and marks each.
class Marking < Guildhall::Kafka::Consumer
  SEEN = Hash.new { |hash, topic| hash[topic] = [] }

  def consume
    messages.each do |message|
      SEEN[message.topic] << (message.payload.is_a?(Integer) ? message.payload : message.payload["i"])
      mark_as_consumed(message)
    end
  end
end

# A database that can be away.
module Database
  AWAY = Thread::Queue.new << true

  def self.call(doc)
    raise IOError, "the database is away" unless AWAY.empty?
    raise NoMethodError, "undefined method 'name' for nil" if doc["i"] == 7

    doc
  end
end

COUNT = 20
BROKEN = 8

Scenario.run do
  server = RegistryServer.new("/schemas/ids/1" => [401, {error_code: 40_101, message: "who are you"}])
  registry = Guildhall::SchemaRegistry.new(server.url, retries: 0)
  avro = Guildhall::Avro.new({type: "record", name: "R", fields: [{name: "i", type: "int"}]})
  framed = Array.new(COUNT) { |i| i == BROKEN ? "\xFFnothing".b : "\0\0\0\0\1".b + avro.encode({"i" => i}) }
  texts = Array.new(COUNT) { |i| i == BROKEN ? "{broken" : %({"i": #{i}}) }
  dead = topic(name: "dead")
  eager, lazy, dropping, staged = names = Array.new(4) { topic }
  names.each { |name| produce(name, (name == staged ? texts : framed).map { |payload| {payload:, partition: 0} }) }
  dead_letters = Thread::Queue.new
  configure(pause_timeout: 0.05, pause_max_timeout: 0.1)
  Guildhall::Kafka.instrumentation.subscribe("dead_letter_queue.dispatched") { |event| dead_letters << event.payload }
  seen = Thread::Queue.new
  %w[unreachable reachable].each do |name|
    Guildhall::Kafka.instrumentation.subscribe("schema_registry.#{name}") { |event| seen << [name, event.payload] }
  end
  routes do
    {eager => Guildhall::Avro::Confluent.new(registry), lazy => Guildhall::Avro::Confluent.new(registry).lazy,
     dropping => Guildhall::Avro::Confluent.new(registry).lazy}.each do |name, codec|
      topic(name) do
        consumer Marking
        deserializer codec
        dead_letter_queue topic: (name == dropping ? false : dead), max_retries: 2, dispatch_undecodable: true
      end
    end
    topic(staged) do
      consumer Marking
      deserializer Guildhall::JSON.lazy >> Guildhall.map(Database)
      deserializing parallel: false
      dead_letter_queue topic: dead, max_retries: 2, dispatch_undecodable: true
    end
  end
  start
  reported = Hash.new(0)
  eventually("five failures of each topic are reported") do
    drain(errors).each { |error| reported[error[:topic]] += 1 }
    names.all? { |name| reported[name] >= 5 }
  end
  equal([0, {}], [dead_letters.size, Marking::SEEN], "dead letters and messages during the outage")
  equal([], names.flat_map { |name| committed(name) }.compact - [0], "committed during the outage, but for where it began")

  name, outage = seen.pop(timeout: 60)
  equal(["unreachable", server.url, false], [name, *outage&.values_at(:registry, :reminder)], "what is published of the registry")
  equal(true, outage[:reason].include?("401 who are you; no credentials are sent: check user: and password:, or token:"), outage[:reason])
  server["/schemas/ids/1"] = [503, "<html>"]
  eventually("the new cause is published") { seen.pop(timeout: 60).to_s.include?("503") }

  server.add(1, avro.schema.json)
  Database::AWAY.clear
  good = (0...COUNT).to_a - [BROKEN]
  wanted = {eager => good, lazy => good, dropping => good, staged => good - [7]}
  eventually("all are consumed") { wanted.all? { |name, numbers| Marking::SEEN[name].size >= numbers.size } }
  eventually("all are committed") { names.flat_map { |name| committed(name) } == [COUNT] * 4 }
  eventually("it is published that the registry answers") { seen.pop(timeout: 60)&.first == "reachable" }
  stop
  equal(wanted, names.to_h { |name| [name, Marking::SEEN[name]] }, "consumed")
  reported = drain(dead_letters).map { |dead_letter| dead_letter.values_at(:topic, :offset, :error_class) }.sort
  expected = [[eager, BROKEN, "Guildhall::DecodeError"], [lazy, BROKEN, "Guildhall::DecodeError"],
              [staged, 7, "NoMethodError"], [staged, BROKEN, "Guildhall::JSON::ParseError"]].sort
  equal(expected, reported, "dead letters")
ensure
  server&.close
end
