# frozen_string_literal: true

# Proves that a schema of the registry that cannot be used is no message's fault: one that refers to a version which the registry does not
# have, and a Protobuf schema whose import is missing. Messages before those that name it are consumed, nothing is dead-lettered although
# no retry is allowed, the error names schema, subject and what is missing, and the registry is not asked for each message. Once the
# registry has what was missing, all are consumed in order and once.
require_relative "../support/scenario"
require_relative "../../support/registry_server"
require_relative "../../support/protobuf_files"
require "guildhall/avro"
require "guildhall/protobuf/confluent"
require "guildhall/schema_registry"

# Consumes in order and marks each.
class Noting < Guildhall::Kafka::Consumer
  SEEN = Thread::Queue.new

  def consume
    messages.each_marking { |message| SEEN << [topic.name, message.offset, message.payload] }
  end
end

COUNT = 6
GOOD = 3 # that come first

Scenario.run do
  server = RegistryServer.new("/schemas/ids/9/versions" => [200, [{subject: "orders-value", version: 2}]])
  server.add(1, '"string"')
  server.add(9, {type: "record", name: "Order", fields: [{name: "item", type: "Item"}]}, references: [{name: "Item", subject: "item", version: 1}])
  server.add(3, "x", schemaType: "PROTOBUF")
  server.add(8, "x", schemaType: "PROTOBUF", references: [{name: "item.proto", subject: "shop-item", version: 1}])
  server["/schemas/ids/3?format=serialized"] = [200, {schema: ProtobufFiles.serialized(ProtobufFiles.item)}]
  server["/schemas/ids/8?format=serialized"] = [200, {schema: ProtobufFiles.serialized(ProtobufFiles.order)}]
  registry = Guildhall::SchemaRegistry.new(server.url, retries: 0)
  codecs = [Guildhall::Avro::Confluent.new(registry), Guildhall::Avro::Confluent.new(registry), Guildhall::Protobuf::Confluent.new(registry)]
  eager, lazy, protobuf = names = Array.new(3) { topic }
  texts = Array.new(COUNT) { |i| (i < GOOD ? "\0\0\0\0\1\2#{i}" : "\0\0\0\0\x09\2#{i}").b }
  messages = Array.new(COUNT) { |i| (i < GOOD ? "\0\0\0\0\3\0\x10\1" : "\0\0\0\0\x08\0\x08\1").b }
  names.each { |name| produce(name, (name == protobuf ? messages : texts).map { |payload| {payload:, partition: 0} }) }
  dead_letters = Thread::Queue.new
  configure(pause_timeout: 0.05, pause_max_timeout: 0.1)
  Guildhall::Kafka.instrumentation.subscribe("dead_letter_queue.dispatched") { |event| dead_letters << event.payload }
  routes do
    names.zip([codecs[0], codecs[1].lazy, codecs[2]]) do |name, codec|
      topic(name) do
        consumer Noting
        deserializer codec
        deserializing parallel: true unless name == protobuf
        dead_letter_queue topic: false, max_retries: 0, dispatch_undecodable: name != lazy
      end
    end
  end
  start
  seen = []
  eventually("those before are consumed") { seen.concat(drain(Noting::SEEN)).size == GOOD * 3 }
  told = Hash.new { |hash, topic| hash[topic] = [] }
  eventually("each waits, and is tried again") do
    drain(errors).each { |error| told[error[:topic]] << error[:error] }
    names.all? { |name| told[name].size > 3 }
  end
  equal([Guildhall::SchemaRegistry::UnusableSchemaError], told.values.flatten.map(&:class).uniq, "errors")
  equal(true, told.values_at(eager, lazy).flatten.all? { |error| error.message.match?(/Avro schema 9 of the subject orders-value cannot be used: .*no version 1 of the subject item/) }, told)
  equal(true, told[protobuf].all? { |error| error.message.match?(/Protobuf schema 8 cannot be used: .*no version 1 of the subject shop-item/) }, told)
  equal(true, server.requests.grep(%r{/subjects/}).size <= 2 * codecs.size, "requests: #{server.requests.tally}")
  equal([GOOD * 3, 0], [seen.concat(drain(Noting::SEEN)).size, dead_letters.size], "consumed, and dead letters")

  item = {type: "record", name: "Item", fields: [{name: "sku", type: "string"}]}
  server["/subjects/item/versions/1"] = [200, {id: 2, subject: "item", version: 1, schema: JSON.generate(item)}]
  server["/subjects/shop-item/versions/1"] = [200, {id: 3, subject: "shop-item", version: 1, schema: "x", schemaType: "PROTOBUF"}]
  codecs.each do |codec| # a minute later
    unusable = codec.instance_variable_get(:@unusable)
    unusable.keys.each { |id| unusable.update(id) { |known| known.with(try_at: 0.0) } }
  end
  eventually("all are consumed") { seen.concat(drain(Noting::SEEN)).size == COUNT * 3 }
  names.each { |name| equal([*0...COUNT], seen.filter_map { |topic, offset,| offset if topic == name }, "consumed in order, and once") }
  equal("4", seen.find { |topic, offset,| [topic, offset] == [eager, 4] }.last["item"]["sku"], "what it says")
  equal(0, dead_letters.size, "dead letters")
  stop
  equal([[COUNT]] * 3, names.map { |name| committed(name) }, "committed")
ensure
  server&.close
end
