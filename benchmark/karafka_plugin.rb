# frozen_string_literal: true

# The Karafka plug-in on a real broker: one application of Karafka, whose payloads are decoded where they are asked for (what Karafka
# does) against the same with the plug-in. From the first message to 90 % of them, five fields read of each. Each contender runs in
# a process of its own, in turn; all of them have to have read the same.
require_relative "support/bench"
require_relative "kafka/avro_topics"
require_relative "kafka/race"

# What each row does.
class KarafkaPluginRows
  # KB => messages, messages with --quick
  SIZES = {1 => [200_000, 60_000], 5 => [100_000, 20_000], 25 => [30_000, 6_000], 100 => [8_000, 1_500]}.freeze
  CONCURRENCIES = [1, 5].freeze
  # row => mode with the plug-in, mode of Karafka, goal at 1 KB, goal from 5 KB up
  ROWS = {"document" => ["plugin.document", "hash", 1.2, 1.7], "hash" => ["plugin.hash", "hash", 0.97, 1.15],
          "stages" => ["plugin.checks", "checks", 1.5, 1.5],
          "avro.document" => ["plugin.avro-document", "avro", 0.97, 0.97], "avro.hash" => ["plugin.avro-hash", "avro", 0.97, 0.97]}.freeze
  AVRO = "gem avro, in place"
  JSON = "JSON.parse, in place"

  def initialize(bench, servers)
    @bench = bench
    @servers = servers
    @topics = Topics.new(servers)
    @avro_topics = AvroTopics.new(servers)
  end

  def run
    ROWS.each_key { |row| SIZES.each_key { |kb| CONCURRENCIES.each { |threads| measure(row, kb, threads) } } }
  end

  private

  def measure(row, kb, threads)
    return unless @bench.wanted?(name = "karafka_plugin.#{row}.#{kb}KB.#{threads}")

    ours, theirs, small, big = ROWS.fetch(row)
    count = SIZES.fetch(kb)[@bench.quick? ? 1 : 0]
    topic = (row.start_with?("avro") ? @avro_topics : @topics).filled(kb * 1000, count)
    result = Race.new({plugin: app(ours, threads), karafka: app(theirs, threads)}, @servers, topic, count).run(@bench.quick? ? 1 : 3)
    @bench.note("#{name}: #{result}")
    @bench.row(name, against: row.start_with?("avro") ? AVRO : JSON, ratio: result.ratio(:plugin, :karafka), goal: kb == 1 ? small : big)
  end

  def app(mode, threads) = Contender.new("karafka_consumer.rb", mode, {"CONCURRENCY" => threads})
end

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
abort("bin/bench karafka_plugin: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?
Bench.script("karafka_plugin") { |bench| KarafkaPluginRows.new(bench, servers).run }
