# frozen_string_literal: true

# Where the time of a message goes: microseconds of a processor, by the threads that spend them, of a consumer in C that reads nothing and of
# ours; what of them Ruby's garbage collector takes, and what Ruby takes to make objects; and what one process cannot exceed on many cores: its
# busiest thread has a core of its own then. Needs perf, and a broker in KAFKA_BOOTSTRAP_SERVERS. Each contender runs twice, and reads more messages the second time: the
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
  # Of libruby's functions.
  KINDS = {"garbage collector" => /\A(?:rb_)?gc_|rgengc|sweep|mark|obj_free|heap_page|writebarrier/,
           "making objects" => /newobj|hash_dup|hash_copy|str_(?:enc_)?new|ary_new|float_new|data_typed/}.freeze

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
      together = costs.values_at(*PARTS.keys, OTHERS).sum
      limit ||= together
      {"together" => together, **(mode ? costs : {})}.each { |part, cost| row("kafka_costs.#{kb}KB.#{name}.#{part}", cost, limit) }
      cores(kb, name, costs, together) if mode
    end
  end

  # How many cores a process can use: its threads are one behind the other, and none does the work of another one.
  def cores(kb, name, costs, together)
    busiest = costs.slice(*PARTS.keys).max_by(&:last)
    @bench.row("kafka_costs.#{kb}KB.#{name}.cores", against: "its busiest thread", ratio: together / [busiest.last, 0.001].max,
      note: format("%s: %.0f messages a second at most", busiest.first, 1e6 / [busiest.last, 0.001].max))
  end

  # @return [Hash{String=>Float}] microseconds a message, by part
  def costs_of(contender, kb, counts)
    few, more = counts.map { |count| by_part(contender.seconds(@servers, @topics.filled(kb * 1000, count), count)) }
    more.to_h { |part, seconds| [part, [(seconds - few[part]) * 1e6 / (counts.last - counts.first), 0].max] }
  end

  def by_part(seconds)
    parts = [*PARTS.keys, OTHERS, *KINDS.keys].to_h { |part| [part, 0.0] }
    seconds.each do |(thread, library, function), cost|
      parts[PARTS.find { |_, name| name.match?(thread) }&.first || OTHERS] += cost
      kind = KINDS.find { |_, names| names.match?(function) }&.first if library.start_with?("libruby")
      parts[kind] += cost if kind
    end
    parts
  end

  def row(name, cost, limit)
    @bench.row(name, against: "a consumer in C", ratio: limit / [cost, 0.001].max, note: format("%.2f µs", cost))
  end
end

servers = ENV["KAFKA_BOOTSTRAP_SERVERS"].to_s
abort("bin/bench kafka_costs: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?
Bench.script("kafka_costs") { |bench| KafkaCosts.new(bench, servers).run }
