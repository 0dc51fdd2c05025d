# frozen_string_literal: true

# Payloads are decoded in worker Ractors from the fetch on, and equal in content and order what is decoded in place: several topics with
# codecs of their own and several partitions at once. Small batches and tombstones are decoded in place. Raw payloads stay as they are.
require_relative "../support/karafka_application"
require "guildhall/avro"
require "guildhall/csv"

# Says where it ran.
module Own
  def self.call(payload) = {"text" => payload, "main" => Ractor.main?}
end

AVRO = Guildhall::Avro.new({"type" => "record", "name" => "Row", "fields" => [{"name" => "id", "type" => "long"}]})
COUNT = 2_000
PARTITIONS = 3
ROWS = Guildhall::CSV.new
JSON_TOPIC, AVRO_TOPIC, CSV_TOPIC, OWN_TOPIC, PLAIN_TOPIC = %w[json avro csv own plain].map { |name| KarafkaApplication.topic(name, partitions: PARTITIONS) }

class Collector < Karafka::BaseConsumer
  def consume
    messages.each do |message|
      before = message.raw_payload
      deserialized = message.deserialized?
      payload = message.payload
      intact = before.equal?(message.raw_payload) && !before.frozen? && !deserialized && message.deserialized?
      KarafkaApplication::RESULTS << [message.topic, message.partition, message.offset, payload, intact]
    end
  end
end

class App < Karafka::App
  KarafkaApplication.setup(self, concurrency: 3)
  Guildhall::Karafka.setup { |config| config.parallel = true }
  routes.draw do
    {JSON_TOPIC => Guildhall::JSON, AVRO_TOPIC => AVRO, CSV_TOPIC => ROWS, OWN_TOPIC => Own}.each do |name, codec|
      topic(name) do
        consumer Collector
        deserializer Guildhall::Karafka.parallel(codec)
      end
    end
    topic(PLAIN_TOPIC) { consumer Collector }
  end
end

json = Array.new(COUNT) { |id| %({"id":#{id}}) }
{JSON_TOPIC => json, AVRO_TOPIC => Array.new(COUNT) { |id| AVRO.encode({"id" => id}) }, CSV_TOPIC => Array.new(COUNT) { |id| "id\n#{id}\n" },
 OWN_TOPIC => json, PLAIN_TOPIC => json}.each do |name, payloads|
  KarafkaApplication.produce(name, payloads, partitions: PARTITIONS)
end

KarafkaApplication.run do
  rows = KarafkaApplication.results(5 * COUNT)
  rows.group_by { |row| row.first(2) }.each do |(topic, partition), some|
    KarafkaApplication.equal((0...some.size).to_a, some.map { |row| row[2] }, "offsets of #{topic}/#{partition}")
  end
  by_topic = rows.group_by(&:first).transform_values { |some| some.sort_by { |row| [row[2], row[1]] }.map { |row| row[3] } }
  hashes = Array.new(COUNT) { |id| {"id" => id} }
  [JSON_TOPIC, AVRO_TOPIC, PLAIN_TOPIC].each { |topic| KarafkaApplication.equal(hashes, by_topic[topic], topic) }
  KarafkaApplication.equal(Array.new(COUNT) { |id| [{"id" => id.to_s}] }, by_topic[CSV_TOPIC], CSV_TOPIC)
  KarafkaApplication.equal(json, by_topic[OWN_TOPIC].map { |payload| payload["text"] }, OWN_TOPIC)
  in_workers = by_topic[OWN_TOPIC].count { |payload| !payload["main"] }
  KarafkaApplication.check("only #{in_workers} payloads were decoded in workers") { in_workers > COUNT / 2 }
  KarafkaApplication.equal({}, rows.reject(&:last).map(&:first).tally, "raw payloads that were changed")

  KarafkaApplication.produce(OWN_TOPIC, ["few"])
  KarafkaApplication.equal({"text" => "few", "main" => true}, KarafkaApplication.results(1).first[3], "a small batch")
  KarafkaApplication.equal(0, KarafkaApplication::ERRORS.size, "errors")
end
