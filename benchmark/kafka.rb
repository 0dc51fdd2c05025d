# frozen_string_literal: true

# Consuming from a real broker, from the first message to 90 % of them: ours against Karafka, and against a consumer in
# C that decodes nothing, which is the limit. The topics take 11 GB: let the broker keep them in memory (a BROKER_DIR under
# /dev/shm), where the disk is not to be measured. Each contender runs in a process of its own, in turn; all of them have to
# have read the same. `--only kafka.document.5KB` measures that row alone.
require_relative "support/bench"
require_relative "kafka/topics"
require_relative "kafka/race"

# What each row does.
class KafkaRows
  # KB => messages, messages with --quick, goals: Document × Karafka, Document of C
  SIZES = {1 => [1_000_000, 60_000, 5, 0.45], 5 => [300_000, 20_000, 5, 0.6],
           25 => [120_000, 6_000, 5, 0.6], 100 => [40_000, 1_500, 5, 0.6]}.freeze
  COLUMNS = {1 => 0.75, 5 => 0.95}.freeze # KB => goal: of C
  CONCURRENCIES = [2, 4, 8].freeze
  ADAPTERS = [1, 5].freeze # KB
  REPORTS = [1, 5].freeze # KB
  ALLOCATOR = [1, 25].freeze # KB
  DEFERRED = {"hash" => 0.97, "checks" => 1.1}.freeze # mode => goal
  KEEPING = {"MALLOC_MMAP_THRESHOLD_" => 33_554_432, "MALLOC_TRIM_THRESHOLD_" => 268_435_456}.freeze
  # Of a small heap, the collections depend on how near it is to growing: what is loaded moves that, and hides what is measured.
  ROOMY = {"RUBY_GC_HEAP_0_INIT_SLOTS" => 400_000, "RUBY_GC_HEAP_1_INIT_SLOTS" => 200_000, "RUBY_GC_HEAP_2_INIT_SLOTS" => 50_000}.freeze
  COLLECTING = {"RUBY_GC_MALLOC_LIMIT" => 8_000_000, "RUBY_GC_MALLOC_LIMIT_MAX" => 8_000_000}.freeze
  PACE = 1_000 # messages a second

  def initialize(bench, servers)
    @bench = bench
    @servers = servers
    @topics = Topics.new(servers)
  end

  def run
    SIZES.each_key do |kb|
      decoding(kb)
      automatic(kb)
      raw(kb)
    end
    COLUMNS.each { |kb, goal| columns(kb, goal) }
    ADAPTERS.each { |kb| adapters(kb) }
    REPORTS.each { |kb| reports(kb) }
    ALLOCATOR.each { |kb| allocator(kb) }
    DEFERRED.each { |mode, goal| deferred(mode, goal) }
    ruby_stages("kafka.schema.5KB", "schema", "Karafka with jsonschema_rs", 4)
    ruby_stages("kafka.stages.5KB", "stages", "Karafka doing the same", 2.5)
    skewed
    latency
    concurrency("cpu") { |_| 0.95 }
    concurrency("io") { |threads| 0.9 * threads }
    concurrency("virtual", partitions: 1) { |threads| 0.9 * threads }
    memory
  end

  private

  def decoding(kb)
    _, _, karafka_goal, c_goal = SIZES.fetch(kb)
    document = "kafka.document.#{kb}KB"
    hash = "kafka.hash.#{kb}KB"
    contenders = {document: (ours("document") if wanted?(document, "kafka.peak.#{kb}KB")), hash: (ours("hash") if wanted?(hash)),
                  karafka: karafka("hash")}.compact
    return if contenders.size == 1

    result = race(contenders, kb)
    limit = race({c: Contender.new("consumer.c", "raw")}, kb) if contenders[:document]
    [document, hash].zip(%i[document hash], [karafka_goal, 2]).each do |name, mode, goal|
      row(name, "Karafka", result.ratio(mode, :karafka), goal) if contenders[mode]
    end
    return unless limit

    row(document, "C, nothing decoded", result.figure(:document) / limit.figure(:c), c_goal)
    row("kafka.peak.#{kb}KB", "Karafka's memory", result.ratio(:karafka, :document, "peak_kb"), 1)
  end

  # Five fields of each, without a Document.
  def columns(kb, goal)
    name = "kafka.columns.#{kb}KB"
    rows = "kafka.rows.#{kb}KB"
    return unless wanted?(name, rows)

    result = race({columns: ours("columns"), rows: ours("rows"), document: ours("document")}, kb)
    limit = race({c: Contender.new("consumer.c", "raw")}, kb)
    {name => :columns, rows => :rows}.each do |row, mode|
      row(row, "Documents", result.ratio(mode, :document))
      row(row, "C, nothing decoded", result.figure(mode) / limit.figure(:c), (goal if mode == :columns))
    end
  end

  # Eager Hashes, which the reader does not decode: what `parallel: nil` comes to, against the better of true and false.
  def automatic(kb)
    return unless wanted?(name = "kafka.automatic.#{kb}KB")

    result = race({automatic: ours("hash"), pool: ours("hash", "PARALLEL" => true), inline: ours("hash", "PARALLEL" => false)}, kb, rounds: quick? ? 1 : 5)
    row(name, "better of parallel: true, false", [result.ratio(:automatic, :pool), result.ratio(:automatic, :inline)].min, 0.97)
  end

  # Metrics in three systems and probes, and a span for each batch as well, against nothing of it; and all of it with a heap that is
  # collected more often than its size would have it: what is under way between two collections stays in the cache.
  def adapters(kb)
    names = {metrics: "kafka.adapters.metrics.#{kb}KB", all: "kafka.adapters.#{kb}KB", collecting: "kafka.adapters.collecting.#{kb}KB"}
    names.select! { |_, name| wanted?(name) }
    return if names.empty?

    settings = {metrics: {"ADAPTERS" => "metrics"}, all: {"ADAPTERS" => "all"}, collecting: {"ADAPTERS" => "all", **COLLECTING}}
    contenders = names.to_h { |which, _| [which, ours("document", settings.fetch(which))] }
    result = race({**contenders, none: ours("document")}, kb, rounds: quick? ? 1 : 9)
    names.each { |which, name| row(name, "without adapters", result.ratio(which, :none), 0.97) }
  end

  # What the process does goes into a topic. Either has a larger heap from the start. In that of this script, which grows by steps, the
  # objects that reports load move how often garbage is collected, as any others would.
  def reports(kb)
    return unless wanted?(name = "kafka.reports.#{kb}KB")

    result = race({reports: ours("document", {"REPORTS" => true, **ROOMY}), none: ours("document", ROOMY)}, kb, rounds: quick? ? 1 : 9)
    row(name, "without reports", result.ratio(:reports, :none), 0.99)
  end

  # librdkafka's buffers come and go by the megabyte: what glibc gives back to the system comes again a page fault at a time.
  def allocator(kb)
    return unless wanted?(name = "kafka.allocator.#{kb}KB")

    result = race({keeping: ours("document", KEEPING), plain: ours("document")}, kb, rounds: quick? ? 1 : 5)
    row(name, "glibc's defaults", result.ratio(:keeping, :plain))
  end

  # Hashes, and Hashes that pipelines of workers check: full collections by the process, against Ruby's own.
  def deferred(mode, goal)
    return unless wanted?(name = "kafka.deferred.#{mode}.5KB")

    result = race({deferred: ours(mode, "GARBAGE_COLLECTION" => "deferred"), ruby: ours(mode)}, 5, rounds: quick? ? 1 : 5)
    row(name, "config.garbage_collection = :ruby", result.ratio(:deferred, :ruby), goal)
  end

  def raw(kb)
    return unless wanted?(name = "kafka.raw.#{kb}KB")

    result = race({ours: ours("raw"), karafka: karafka("raw")}, kb)
    row(name, "Karafka, not touched", result.ratio(:ours, :karafka), 2)
  end

  def ruby_stages(name, mode, against, goal)
    return unless wanted?(name)

    row(name, against, race({ours: ours(mode), karafka: karafka(mode)}, 5).ratio(:ours, :karafka), goal)
  end

  # One partition of five holds everything.
  def skewed
    return unless wanted?("kafka.skewed.5KB")

    count = quick? ? 20_000 : 100_000
    topic = @topics.filled(5_000, count, used: 1)
    result = Race.new({ours: ours("document"), karafka: karafka("hash")}, @servers, topic, count).run(rounds)
    @bench.note("one partition: #{result}")
    row("kafka.skewed.5KB", "Karafka", result.ratio(:ours, :karafka), 1.5)
  end

  # From the call of `produce` to the consumer's having the payload decoded.
  def latency
    return unless wanted?("kafka.latency")

    result = Array.new(rounds) { {ours: way(ours("latency")), karafka: way(karafka("latency"))} }
    %w[p50 p99].each do |name|
      times = %i[ours karafka].to_h { |who| [who, result.map { |round| round[who]["#{name}_ms"] }.sort[rounds / 2]] }
      @bench.note(times.map { |who, time| "#{name} #{who} #{time.round(2)} ms" }.join(", "))
      row("kafka.latency.#{name}", "Karafka", times[:karafka] / times[:ours], 1)
    end
  end

  def way(contender)
    topic = @topics.empty
    count = quick? ? 6_000 : 12_000
    sender = Thread.new { @topics.trickle(topic, PACE, count) }
    contender.run(@servers, topic, count)
  ensure
    sender.join
  end

  # The same consumer with more and more runner threads; messages of 1 KB.
  def concurrency(mode, partitions: 8)
    CONCURRENCIES.each do |threads|
      name = "kafka.concurrency.#{mode}.#{threads}"
      next unless wanted?(name)

      topic = @topics.filled(1_000, quick? ? 40_000 : 200_000, partitions:)
      ratios = Array.new(rounds) { |round| scaling(mode, topic, round.even? ? [1, threads] : [threads, 1], threads) }
      row(name, "concurrency 1", Bench.median(ratios), yield(threads).round(2))
    end
  end

  def scaling(mode, topic, in_turn, threads)
    rates = in_turn.to_h { |count| [count, ours(mode, "CONCURRENCY" => count).run(@servers, topic, work(mode, count))["rate"]] }
    rates[threads] / rates[1]
  end

  def work(mode, threads)
    return quick? ? 20_000 : 200_000 if mode == "cpu"

    [(quick? ? 1_000 : 2_500) * threads, 20_000].min
  end

  # A topic read again and again: the most that is in use in the second quarter and in the last. Karafka reads a tenth.
  def memory
    return unless wanted?("kafka.memory")

    topic = @topics.filled(1_000, 150_000)
    count = quick? ? 1_000_000 : 10_000_000
    limits = {"PARTITION_SIZE" => 150_000 / Topics::PARTITIONS, "STOPWATCH_LIMIT" => 600}
    mine = ours("memory", limits).run(@servers, topic, count)
    theirs = karafka("memory", limits).run(@servers, topic, count / 10)
    samples = mine["memory_kb"]
    @bench.note("MB: #{samples.map { |kb| kb / 1024 }.join(" ")}; peak #{mine["peak_kb"] / 1024}, Karafka's #{theirs["peak_kb"] / 1024}")
    quarters = samples.each_slice((samples.size / 4.0).ceil).map(&:max)
    row("kafka.memory.flat", "second quarter of #{count}", quarters[1].fdiv(quarters.last), 0.95)
    row("kafka.memory.peak", "Karafka's, a tenth read", theirs["peak_kb"].fdiv(mine["peak_kb"]), 1)
  end

  def race(contenders, kb, rounds: self.rounds)
    count = SIZES.fetch(kb)[quick? ? 1 : 0]
    result = Race.new(contenders, @servers, @topics.filled(kb * 1000, count), count).run(rounds)
    @bench.note("#{kb} KB: #{result}")
    result
  end

  def row(name, against, ratio, goal = nil) = @bench.row(name, against:, ratio:, goal:)
  def wanted?(*names) = names.any? { |name| @bench.wanted?(name) }
  def quick? = @bench.quick?
  def rounds = quick? ? 1 : 3
  def ours(mode, environment = {}) = Contender.new("guildhall_consumer.rb", mode, environment)
  def karafka(mode, environment = {}) = Contender.new("karafka_consumer.rb", mode, environment)
end

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
abort("bin/bench kafka: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?
Bench.script("kafka") { |bench| KafkaRows.new(bench, servers).run }
