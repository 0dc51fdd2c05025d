# frozen_string_literal: true

# The Karafka plug-in on a real broker: one application of Karafka, whose payloads are decoded where they are asked for (what Karafka
# does) against the same with the plug-in. From the first message to 90 % of them, five fields read of each. Each contender runs in
# a process of its own, in turn; all of them have to have read the same. And what a fetch costs more that the plug-in has nothing to do with,
# and what a larger heap wins, for each of the two.
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
  HEAP = {"RUBY_GC_HEAP_0_INIT_SLOTS" => 400_000, "RUBY_GC_HEAP_1_INIT_SLOTS" => 400_000, "RUBY_GC_HEAP_2_INIT_SLOTS" => 100_000}.freeze
  HEAP_KB = 5
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
    {"plugin" => 0, "karafka" => 1}.each { |row, place| measure_heap("karafka_plugin.heap.#{row}.#{HEAP_KB}KB", ROWS.fetch("stages")[place]) }
  end

  private

  def measure(row, kb, threads)
    return unless @bench.wanted?(name = "karafka_plugin.#{row}.#{kb}KB.#{threads}")

    ours, theirs, small, big = ROWS.fetch(row)
    avro = row.start_with?("avro")
    result = race(avro ? @avro_topics : @topics, kb, {plugin: app(ours, threads), karafka: app(theirs, threads)})
    @bench.note("#{name}: #{result}")
    goal = kb == 1 ? small : big
    @bench.row(name, against: avro ? AVRO : JSON, ratio: result.ratio(:plugin, :karafka), goal:, talk: avro ? TALK[kb] : nil)
  end

  def measure_heap(name, mode)
    return unless @bench.wanted?(name)

    result = race(@topics, HEAP_KB, {large: app(mode, 5, HEAP), usual: app(mode, 5)})
    @bench.note("#{name}: #{result}")
    @bench.row(name, against: "Ruby's own heap", ratio: result.ratio(:large, :usual))
  end

  # @return [Race]
  def race(topics, kb, contenders)
    count = SIZES.fetch(kb)[@bench.quick? ? 1 : 0]
    Race.new(contenders, @servers, topics.filled(kb * 1000, count), count).run(@bench.quick? ? 1 : 3)
  end

  def measure_off(row, goal)
    name = "karafka_plugin.off.#{row}"
    return unless @bench.wanted?(name)

    require_relative "kafka/plugin_off"
    nanoseconds = (@off ||= PluginOff.new).public_send(row, @bench.rounds * 5)
    ratio = nanoseconds <= 0 ? 10 : [goal / nanoseconds, 10].min
    @bench.row(name, against: "#{goal} ns a fetch", ratio:, goal: 1, note: format("%+.0f ns", nanoseconds))
  end

  def app(mode, threads, environment = {}) = Contender.new("karafka_consumer.rb", mode, {"CONCURRENCY" => threads, **environment})
end

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
abort("bin/bench karafka_plugin: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?
Bench.script("karafka_plugin") { |bench| KarafkaPluginRows.new(bench, servers).run }
