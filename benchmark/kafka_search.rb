# frozen_string_literal: true

# Finding one message in a topic, on a real broker: `Guildhall::Kafka.search`, which is behind `guildhall read --where`, against a consumer in C
# that reads the same messages and looks at none, which is the limit; and the command, as a process from its start to its end, against
# `kcat | jq` (in Debian: apt-get install kcat jq). Each has to find the one message that there is, and to search all.
require_relative "support/bench"
require_relative "kafka/topics"
require_relative "kafka/race"
require "open3"

# Topics in which one message is unlike the others.
class SearchTopics < Topics
  NUMBER = 999_999
  EMAIL = "customer#{NUMBER}@example.com".freeze

  private

  def prefix = "guildhall-search"

  # The last of the first partition.
  def fill(name, bytes, missing)
    return if missing.none?(&:positive?)

    super(name, bytes, [missing.first - 1, *missing.drop(1)])
    client(:producer) { |producer| producer.produce(topic: name, partition: 0, payload: payload(bytes, NUMBER)).wait(max_wait_timeout_ms: 30_000) }
  end
end

# What each row does.
class KafkaSearchRows
  # KB => messages for the race, with --quick; goal; messages for the commands
  SIZES = {1 => [1_000_000, 200_000, nil, 100_000], 5 => [300_000, 60_000, 0.8, 40_000]}.freeze
  CONDITIONS = {"text" => %($.customer.email == "#{SearchTopics::EMAIL}"), "number" => "$.id == #{SearchTopics::NUMBER}",
                "items" => %($.items[?@.sku == "SKU-#{SearchTopics::NUMBER * 31}"])}.freeze
  COMMAND = File.expand_path("../exe/guildhall", __dir__)

  def initialize(bench, servers)
    @bench = bench
    @servers = servers
    @topics = SearchTopics.new(servers)
  end

  def run
    SIZES.each_key do |kb|
      against_c(kb)
      against_kcat(kb)
    end
  end

  private

  def against_c(kb)
    conditions = CONDITIONS.select { |kind, _| @bench.wanted?("kafka_search.#{kind}.#{kb}KB") }
    return if conditions.empty?

    full, quick, goal, = SIZES.fetch(kb)
    count = @bench.quick? ? quick : full
    topic = @topics.filled(kb * 1000, count)
    contenders = {c: Contender.new("consumer.c", "raw"), **conditions.to_h { |kind, condition| [kind.to_sym, Contender.new("guildhall_search.rb", condition)] }}
    race = Race.new(contenders, @servers, topic, count, same: false).run(@bench.quick? ? 3 : 5)
    expected = [[[0, (count / Topics::PARTITIONS) - 1]]]
    conditions.each_key do |kind|
      found = race.all(kind.to_sym, "found").uniq
      abort("kafka_search.#{kind}.#{kb}KB: found #{found}, not #{expected}") unless found == expected
    end
    @bench.note("#{kb} KB: #{race}")
    conditions.each_key do |kind|
      @bench.row("kafka_search.#{kind}.#{kb}KB", against: "C, nothing looked at", ratio: race.ratio(kind.to_sym, :c), goal: kind == "text" ? goal : nil)
    end
  end

  def against_kcat(kb)
    return unless @bench.wanted?(name = "kafka_search.command.#{kb}KB")
    return @bench.note("#{name}: needs kcat and jq") unless %w[kcat jq].all? { |program| system("which #{program}", out: File::NULL) }

    count = SIZES.fetch(kb).last
    topic = @topics.filled(kb * 1000, count)
    rates = Array.new(@bench.quick? ? 1 : 3) { [ours(topic), kcat(topic)].map { |seconds| count / seconds } }
    @bench.note("#{kb} KB, #{count} messages, from start to end: guildhall read #{rates.map { |pair| pair.first.round }.sort} /s, " \
                "kcat | jq #{rates.map { |pair| pair.last.round }.sort} /s")
    @bench.row(name, against: "kcat | jq", ratio: Bench.median(rates.map { |ours, theirs| ours / theirs }), goal: 1)
  end

  def ours(topic)
    timed do
      run_command(RbConfig.ruby, "-e", "load ARGV.shift", COMMAND, "read", topic, "-b", @servers, "--where", CONDITIONS.fetch("text"), "--format", "raw")
    end
  end

  def kcat(topic)
    jq = %(select(.customer.email == "#{SearchTopics::EMAIL}"))
    timed { run_command("sh", "-c", 'kcat -C -q -e -u -b "$1" -t "$2" -o beginning | jq -c "$3"', "sh", @servers, topic, jq) }
  end

  def timed
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    found = yield
    seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
    lines = found.lines.map { |line| ::JSON.parse(line).dig("customer", "email") }
    abort("found #{lines}, not #{SearchTopics::EMAIL}") unless lines == [SearchTopics::EMAIL]
    seconds
  end

  def run_command(*command)
    out, err, status = Open3.capture3(*command)
    abort("#{command.first(3).join(" ")}: #{status}\n#{err}") unless status.success?
    out
  end
end

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
abort("bin/bench kafka_search: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?
Bench.script("kafka_search") { |bench| KafkaSearchRows.new(bench, servers).run }
