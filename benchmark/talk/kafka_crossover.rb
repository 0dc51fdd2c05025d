# frozen_string_literal: true

# JSON and Avro of 1 to 100 KB from a real broker: Karafka decoding for itself, against Guildhall with Hashes and with Documents, and for Avro the
# same Karafka application with the plug-in.

require_relative "kafka_tables"

KafkaTables.script("kafka_crossover") do |tables|
  [1, 5, 25, 100].each do |kilobytes|
    if tables.bench.wanted?("kafka_crossover.JSON #{kilobytes} KB")
      race = tables.race(kilobytes, {document: tables.ours("document"), hash: tables.ours("hash"), karafka: tables.karafka})
      {document: "Documents", hash: "Hashes"}.each do |way, name|
        tables.bench.row("kafka_crossover.JSON #{kilobytes} KB, #{name}", against: "Karafka", ratio: race.ratio(way, :karafka), note: race.to_s)
      end
    end
    next unless tables.bench.wanted?("kafka_crossover.Avro #{kilobytes} KB")

    race = tables.race(kilobytes, {document: tables.karafka("plugin.avro-document"), gem: tables.karafka("avro")}, topics: AvroTopics)
    tables.bench.row("kafka_crossover.Avro #{kilobytes} KB, Documents", against: "Karafka with the gem avro", ratio: race.ratio(:document, :gem), note: race.to_s)
  end
end
