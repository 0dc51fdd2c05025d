# frozen_string_literal: true

# Where the time of a message goes: microseconds of a processor, by the threads that spend them, of a consumer in C that reads nothing and of
# ours. Needs perf, and a broker in KAFKA_BOOTSTRAP_SERVERS. Each contender runs twice, and reads more messages the second time: the
# difference is what these have cost, and how a process starts is left out. benchmark/kafka/costs.rb shows the functions, and counts
# instructions.

require "guildhall"
require_relative "support/bench"
require_relative "kafka/profiled_contender"
require_relative "kafka/topics"

class KafkaCosts
  COUNTS = {1 => [200_000, 800_000], 5 => [50_000, 250_000]}.freeze # messages of the two runs, by KB
  MODES = {"C, nothing read" => nil, "nothing read" => "raw", "columns" => "columns", "rows" => "rows", "Documents" => "document",
           "Hashes" => "hash"}.freeze
  PARTS = {"librdkafka" => /\Ardk:/, "listener" => /liste\z/, "consumer" => /runne\z/}.freeze
  OTHERS = "the rest" # such as timers
  # Their workers' threads have the name of whichever thread has started them.
  WITH_WORKERS = "Hashes"

  def initialize(bench, servers)
    @bench = bench
    @topics = Topics.new(servers)
    @servers = servers
  end

  def run
    perf = system("perf", "--version", out: File::NULL, err: File::NULL)
    return @bench.note("kafka_costs: no perf here (Debian: linux-perf)") unless perf

    COUNTS.each { |kb, counts| table(kb, counts) if @bench.wanted?("kafka_costs.#{kb}KB") }
  end

  private

  def table(kb, counts)
    counts = counts.map { |count| count / 10 } if @bench.quick?
    limit = nil
    MODES.each do |name, mode|
      costs = costs_of(mode ? ProfiledContender.new("guildhall_consumer.rb", mode) : ProfiledContender.new("consumer.c", "raw"), kb, counts)
      limit ||= costs.values.sum
      row("kafka_costs.#{kb}KB.#{name}.together", costs.values.sum, limit)
      costs.each { |part, cost| row("kafka_costs.#{kb}KB.#{name}.#{part}", cost, limit) } unless mode.nil? || name == WITH_WORKERS
    end
  end

  # @return [Hash{String=>Float}] microseconds a message, by part
  def costs_of(contender, kb, counts)
    few, more = counts.map { |count| by_part(contender.seconds(@servers, @topics.filled(kb * 1000, count), count)) }
    more.to_h { |part, seconds| [part, [(seconds - few[part]) * 1e6 / (counts.last - counts.first), 0].max] }
  end

  def by_part(seconds)
    parts = [*PARTS.keys, OTHERS].to_h { |part| [part, 0.0] }
    seconds.each { |(thread, _), cost| parts[PARTS.find { |_, name| name.match?(thread) }&.first || OTHERS] += cost }
    parts
  end

  def row(name, cost, limit)
    @bench.row(name, against: "a consumer in C", ratio: limit / [cost, 0.001].max, note: format("%.2f µs", cost))
  end
end

servers = ENV["KAFKA_BOOTSTRAP_SERVERS"].to_s
abort("bin/bench kafka_costs: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?
Bench.script("kafka_costs") { |bench| KafkaCosts.new(bench, servers).run }
