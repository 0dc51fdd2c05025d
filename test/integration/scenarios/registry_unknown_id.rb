# frozen_string_literal: true

# Proves that an id that a schema registry does not know yet is waited for without a runner: with a single one, messages before it,
# other partitions, other ids and other topics are consumed meanwhile, nothing is dead-lettered, and the registry is asked for it by a
# few requests of the process, not by each message. It is consumed once the registry knows it; an application that waits stops at once.
# Schemas that headers name are fetched before workers get a batch.
require_relative "../support/scenario"
require_relative "../../support/registry_server"
require "guildhall/avro"
require "guildhall/schema_registry"

# Consumes in order and marks each.
class Noting < Guildhall::Kafka::Consumer
  SEEN = Thread::Queue.new

  def consume
    messages.each_marking { |message| SEEN << [topic.name, message.partition, message.payload] }
  end
end

GUID = "0f0d1f2a-3b4c-5d6e-7f80-91a2b3c4d5e6"
HEADER = {"__value_schema_id" => "\1".b + [GUID.delete("-")].pack("H*")}.freeze

Scenario.run do
  server = RegistryServer.new("/schemas/guids/#{GUID}" => [200, {id: 1, schema: '"string"', guid: GUID}])
  server.add(1, '"string"')
  registry = Guildhall::SchemaRegistry.new(server.url, retries: 0)
  text = ->(id, number) { ["\0", [id].pack("N"), "\x02", number.to_s].join.b }
  unknown, lazy, in_headers = names = [topic(partitions: 2), topic, topic]
  # 9 is not known, 8 never will be: in partition 0 the fourth is of 9; the other topic has it as well.
  produce(unknown, Array.new(8) { |i| {payload: text.call(i == 3 ? 9 : 1, i), partition: 0} })
  produce(unknown, Array.new(8) { |i| {payload: text.call(1, i), partition: 1} })
  produce(lazy, Array.new(4) { |i| {payload: text.call(i == 2 ? 9 : 1, i), partition: 0} })
  produce(in_headers, Array.new(8) { |i| {payload: "\x02#{i}", partition: 0, headers: HEADER} })
  dead_letters = Thread::Queue.new
  configure(concurrency: 1, pause_timeout: 0.05, pause_max_timeout: 0.2)
  Guildhall::Kafka.instrumentation.subscribe("dead_letter_queue.dispatched") { |event| dead_letters << event.payload }
  routes do
    topic(unknown) do
      consumer Noting
      deserializer Guildhall::Avro::Confluent.new(registry)
      deserializing parallel: true
      dead_letter_queue topic: false, max_retries: 0, dispatch_undecodable: true
    end
    topic(lazy) do
      consumer Noting
      deserializer Guildhall::Avro::Confluent.new(registry).lazy
      dead_letter_queue topic: false, max_retries: 0
    end
    topic(in_headers) do
      consumer Noting
      deserializer Guildhall::Avro::Confluent.new(registry, schema_id: :headers)
      deserializing parallel: true
    end
  end
  start
  seen = []
  eventually("all that do not name the schema are consumed") do
    seen.concat(drain(Noting::SEEN))
    seen.size == 3 + 8 + 2 + 8
  end
  numbers = ->(name, partition) { seen.filter_map { |one| one[2].to_i if one.first(2) == [name, partition] } }
  equal([[0, 1, 2], [*0..7], [0, 1], [*0..7]], [[unknown, 0], [unknown, 1], [lazy, 0], [in_headers, 0]].map { |place| numbers.call(*place) }, "consumed")
  pool = Guildhall::Kafka.application.instance_variable_get(:@own_pool)
  eventually("workers have decoded those whose schema a header names") do
    pool.stats.fetch(:by_worker).sum { |_, done| done.fetch(:payloads) } >= 8
  end
  eventually("it is tried again and again") { drain(errors).any? { |error| error[:error].is_a?(Guildhall::Avro::UnknownSchemaError) } }
  equal(0, dead_letters.size, "dead letters")
  equal(true, server.requests.count("GET /schemas/ids/9") <= 12, "requests for it: #{server.requests.tally}")

  server.add(9, '"string"')
  eventually("it is consumed, and what comes after it") do
    seen.concat(drain(Noting::SEEN))
    seen.size == 8 + 8 + 4 + 8
  end
  equal([[*0..7], [*0..7], [*0..3], [*0..7]], [[unknown, 0], [unknown, 1], [lazy, 0], [in_headers, 0]].map { |place| numbers.call(*place) }, "consumed in order, and once")
  equal([[], 0], [drain(errors).reject { |error| error[:error].is_a?(Guildhall::DecodeError) }, dead_letters.size], "other errors, and dead letters")

  produce(unknown, [{payload: text.call(8, 0), partition: 0}])
  eventually("what will never be known is waited for") { drain(errors).any? { |error| error[:error].message.include?("schema 8") } }
  stop
  equal([[8, 8], [4], [8]], names.map { |name| committed(name, partitions: name == unknown ? 2 : 1) }, "committed")
ensure
  server&.close
end
