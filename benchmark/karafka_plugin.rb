# frozen_string_literal: true

# The Karafka plug-in on a real broker: one application of Karafka, whose payloads are decoded where they are asked for (what Karafka
# does) against the same with the plug-in. From the first message to 90 % of them, five fields read of each. Each contender runs in
# a process of its own, in turn; all of them have to have read the same. And what a fetch costs more that the plug-in has nothing to do with.
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
          "avro.document" => ["plugin.avro-document", "avro", 0.97, 0.97], "avro.hash" => ["plugin.avro-hash", "avro", 0.97, 0.97],
          "avro.gem" => ["plugin.avro-gem", "avro", nil, nil]}.freeze # what the talk measured: the gem on workers
  TALK = {1 => "1.87", 100 => "0.99"}.freeze # Avro, by KB
  OFF = {"application" => 56, "topic" => 1_000}.freeze # row => nanoseconds a fetch, at most
  AVRO = "gem avro, in place"
  JSON = "JSON.parse, in place"

  def initialize(bench, servers)
    @bench = bench
    @servers = servers
    @topics = Topics.new(servers)
    @avro_topics = AvroTopics.new(servers)
  end

  def run
    OFF.each { |row, goal| measure_off(row, goal) }
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
    avro = row.start_with?("avro")
    goal = kb == 1 ? small : big
    @bench.row(name, against: avro ? AVRO : JSON, ratio: result.ratio(:plugin, :karafka), goal:, talk: avro ? TALK[kb] : nil)
  end

  def measure_off(row, goal)
    name = "karafka_plugin.off.#{row}"
    return unless @bench.wanted?(name)

    require_relative "kafka/plugin_off"
    nanoseconds = (@off ||= PluginOff.new).public_send(row, @bench.rounds * 5)
    ratio = nanoseconds <= 0 ? 10 : [goal / nanoseconds, 10].min
    @bench.row(name, against: "#{goal} ns a fetch", ratio:, goal: 1, note: format("%+.0f ns", nanoseconds))
  end

  def app(mode, threads) = Contender.new("karafka_consumer.rb", mode, {"CONCURRENCY" => threads})
end

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
abort("bin/bench karafka_plugin: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?
Bench.script("karafka_plugin") { |bench| KarafkaPluginRows.new(bench, servers).run }
