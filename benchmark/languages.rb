# frozen_string_literal: true

# What would a team rewrite this consumer in? The same topic of the same broker, payloads of 0.5, 5 and 25 KB in which nothing repeats, five fields of
# each: Guildhall (columns, Documents, Hashes), Karafka and racecar beside Java (kafka-clients, Jackson), Go (confluent's client, encoding/json), Node (kafkajs)
# and Python (confluent-kafka, orjson), as far as their toolchains are here. Runs take up to half a minute, so that a JVM is warm: who is slow reads fewer
# messages. Lazy reading counts what was read: the five fields, and that the rest is valid JSON; it builds no object that is not read. The rows of
# languages.limit say what nobody can exceed who uses librdkafka here: a consumer in C that takes the messages and reads none. KAFKA_LIBS
# names the folder with the jars of kafka-clients and Jackson (the `libs` of Apache Kafka has both). Debian: default-jdk-headless, nodejs, npm, python3-confluent-kafka, golang-go and
# golang-github-confluentinc-confluent-kafka-go-dev; gems, Go modules and npm packages are fetched once, into build/languages. The topics
# take up to 10 GB of the broker's disk, one after the other.

require "guildhall"
require_relative "support/bench"
require_relative "support/measured_process"
require_relative "kafka/race"
require_relative "languages/fresh_topics"
require_relative "languages/toolchains"

# Everybody in turn, on one topic after the other.
class Languages
  SIZES = {"0.5 KB" => [500, 6_000_000, 2], "5 KB" => [5_000, 1_500_000, 4], "25 KB" => [25_000, 400_000, 6]}.freeze # bytes, messages, goal of Documents
  COLUMNS = {"0.5 KB" => [1.6, 0.75], "5 KB" => [2, 0.95], "25 KB" => [2, 0.95]}.freeze # goals: of the best, of the limit
  SAMPLE = 60 # times fewer, of which all have to read the same
  SECONDS = 30 # that the measured run takes, at the rate of the sample; at most the whole topic
  GEMS = %w[Karafka racecar].freeze

  def initialize(bench, servers)
    @bench = bench
    @topics = FreshTopics.new(servers)
    @servers = servers
  end

  def run
    toolchains = Toolchains.new(@servers)
    there = toolchains.contenders
    toolchains.missing.each { |line| @bench.note("languages: without #{line}") }
    SIZES.each { |size, (bytes, count, goal)| table(size, bytes, count, goal, there) if @bench.wanted?("languages.#{size}") }
    SIZES.each { |size, (bytes, count, _)| limit(size, bytes, count) if @bench.wanted?("languages.limit.#{size}") }
  end

  private

  def table(size, bytes, count, goal, there)
    results = sample(there, bytes, whole(count / SAMPLE))
    unless @bench.quick?
      counts = results.transform_values { |result| whole([count, result["rate"] * SECONDS].min) }
      results = @topics.with(bytes, count) { |topic| there.to_h { |name, way| [name, {"count" => counts[name], **way.call(topic, counts[name])}] } }
      same(results.select { |name, _| counts[name] == count })
    end
    rows(size, goal, results)
  end

  def limit(size, bytes, count)
    count = whole(count / SAMPLE) if @bench.quick?
    contenders = {alone: Contender.new("consumer.c", nil), documents: Contender.new("guildhall_consumer.rb", "document"),
                  columns: Contender.new("guildhall_consumer.rb", "columns")}
    race = @topics.with(bytes, count) { |topic| Race.new(contenders, @servers, topic, count, same: false).run(@bench.quick? ? 1 : 4) }
    @bench.row("languages.limit.#{size}", against: "librdkafka alone", ratio: race.ratio(:documents, :alone), note: race.to_s)
    @bench.row("languages.limit.#{size}, columns", against: "librdkafka alone", ratio: race.ratio(:columns, :alone), goal: COLUMNS.fetch(size).last)
  end

  # A JVM is cold in it.
  def sample(there, bytes, count)
    @topics.with(bytes, count) { |topic| there.transform_values { |way| {"count" => count, **way.call(topic, count)} } }.tap { |results| same(results) }
  end

  def whole(count) = (count / Topics::PARTITIONS).ceil * Topics::PARTITIONS

  def same(results)
    sums = results.values.map { |result| result["sum"] }.uniq
    abort("languages: not the same was read: #{results}") if sums.size > 1
  end

  def rows(size, goal, results)
    rates = results.transform_values { |result| result["rate"] }
    results.each do |name, result|
      cpu = result["cpu_seconds"] / result["count"] * 1e6
      note = format("%<rate>.0f a second, %<cpu>.1f µs of CPU each, %<peak>.0f MB", rate: rates[name], cpu:, peak: result["peak_kb"] / 1024.0)
      @bench.row("languages.#{size}.#{name}", against: "Karafka", ratio: rates[name] / rates.fetch("Karafka"), note:)
    end
    best = rates.reject { |name, _| name.start_with?("Guildhall") || GEMS.include?(name) }.max_by(&:last) or return
    {"Guildhall, columns" => COLUMNS.fetch(size).first, "Guildhall, Documents" => goal, "Guildhall, Hashes" => 1}.each do |name, wanted|
      @bench.row("languages.#{size}.#{name}, against the best", against: best.first, ratio: rates[name] / best.last, goal: wanted)
    end
  end
end

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
abort("bin/bench languages: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?
Bench.script("languages") { |bench| Languages.new(bench, servers).run }
