# frozen_string_literal: true

# What the choices that measure themselves are worth: where the pool runs a batch, and where Kafka decodes the payloads of a topic. Each
# against workers always and workers never, on payloads of ours and on GitHub's webhooks, on a machine that does nothing else and on one
# where a process for each core counts in a loop. Messages of Kafka are read ahead into memory, and the broker stands still meanwhile: it
# takes no core from the workers. Kafka's rows need a real broker of this machine (KAFKA_BOOTSTRAP_SERVERS, and its process in
# KAFKA_BROKER_PID).
require "etc"
require "json"
require "guildhall/pool"
require "guildhall/json"
require_relative "support/bench"
require_relative "support/pool_peers"
require_relative "data/corpus"
require_relative "kafka/topics"
require_relative "kafka/race"

Warning[:experimental] = false

# A process for each core that counts in a loop.
module BusyMachine
  def self.during
    pids = Array.new(Etc.nprocessors) { spawn(RbConfig.ruby, "--disable=gems", "-e", "loop {}") }
    yield
  ensure
    pids.each { |pid| Process.kill(:KILL, pid) }.each { |pid| Process.wait(pid) }
  end
end

# Batches whose results are read.
class PoolChoices
  WAYS = {automatic: nil, workers: true, caller: false}.freeze
  SETTLING_SECONDS = 1

  # Counts what is in a document.
  module Survey
    def self.call(text) = count(JSON.parse(text))

    def self.count(value)
      case value
      when Hash then value.sum { |_, one| count(one) }
      when Array then value.sum { |one| count(one) }
      else 1
      end
    end
  end

  TASKS = {"hashes" => Guildhall::JSON, "documents" => Guildhall::JSON.lazy, "ruby" => Survey}.freeze

  def initialize(bench, machine)
    @bench = bench
    @machine = machine
    @pool = Guildhall::Pool.new
    corpus = Corpus.new(bytes: 500_000)
    @payloads = {"0.7 KB" => corpus.orders(620), "5 KB" => corpus.orders(5_000), "webhooks" => corpus.webhooks.first(200)}
  end

  def run
    TASKS.each do |task_name, task|
      @payloads.each do |name, texts|
        [10, 100, 1_000].each { |size| row("mechanisms.#{@machine}.pool.#{task_name} #{name} × #{size}", task, texts.cycle.first(size)) }
      end
    end
  ensure
    @pool.shutdown
  end

  private

  def row(name, task, batch)
    return unless @bench.wanted?(name)

    times = [300_000 / batch.sum(&:bytesize), 1].max
    ways = WAYS.transform_values { |parallel| -> { times.times { @pool.map(batch, task, parallel:).each(&:itself) } } }
    expected = batch.map { |text| task.call(text) }
    WAYS.each_value { |parallel| abort("#{name}: wrong results") unless @pool.map(batch, task, parallel:) == expected }
    limit = PoolPeers.now + SETTLING_SECONDS
    ways[:automatic].call while PoolPeers.now < limit
    rounds = Array.new(@bench.quick? ? 5 : 15) { ways.to_a.shuffle.to_h { |way, call| [way, PoolPeers.seconds(&call)] } }
    median = ->(way) { Bench.median(rounds.map { |round| round[way] / round[:automatic] }) }
    @bench.row(name, against: "workers always", ratio: median.call(:workers))
    @bench.row(name, against: "workers never", ratio: median.call(:caller))
  end
end

# Webhooks in the place of orders.
class WebhookTopics < Topics
  private

  def prefix = "guildhall-bench-webhooks"
  def texts = @texts ||= Corpus.new.webhooks.select { |text| text.bytesize.between?(3_000, 12_000) }
  def payload(_bytes, index) = texts[index % texts.size]
end

# Messages that are in memory before the time is taken, while the broker stands still.
class KafkaChoices
  # Ends the standstill that the contender has begun.
  class ReadAhead < Contender
    def run(...)
      super
    ensure
      Process.kill(:CONT, Integer(ENV.fetch("KAFKA_BROKER_PID")))
    end
  end

  WAYS = {automatic: nil, workers: "true", runner: "false"}.freeze
  ROWS = {"hash 1 KB" => ["hash", Topics, 1_000, 400_000], "hash 5 KB" => ["hash", Topics, 5_000, 120_000],
          "hash webhooks" => ["survey", WebhookTopics, 6_000, 100_000], "stages 5 KB" => ["stages", Topics, 5_000, 120_000],
          "schema 5 KB" => ["schema", Topics, 5_000, 120_000]}.freeze

  def initialize(bench, servers, machine)
    @bench = bench
    @servers = servers
    @machine = machine
  end

  def run
    ROWS.each do |title, (mode, topics, bytes, count)|
      next unless @bench.wanted?(name = "mechanisms.#{@machine}.kafka.#{title}")

      count /= 4 if @bench.quick?
      topic = topics.new(@servers).filled(bytes, count)
      result = Race.new(WAYS.transform_values { |way| contender(mode, way) }, @servers, topic, count).run(@bench.quick? ? 1 : 3)
      @bench.note("#{title}: #{result}")
      @bench.row(name, against: "workers always", ratio: result.ratio(:automatic, :workers))
      @bench.row(name, against: "workers never", ratio: result.ratio(:automatic, :runner))
    end
  end

  private

  def contender(mode, parallel)
    ReadAhead.new("guildhall_consumer.rb", mode, "PARALLEL" => parallel, "FREEZE" => ENV.fetch("KAFKA_BROKER_PID"))
  end
end

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
Bench.script("mechanisms") do |bench|
  run = lambda do |machine|
    PoolChoices.new(bench, machine).run if bench.wanted?("mechanisms.#{machine}.pool")
    next if servers.empty? || !ENV["KAFKA_BROKER_PID"] || !bench.wanted?("mechanisms.#{machine}.kafka")

    KafkaChoices.new(bench, servers, machine).run
  end
  run.call("quiet") if bench.wanted?("mechanisms.quiet")
  BusyMachine.during { run.call("busy") } if bench.wanted?("mechanisms.busy")
end
