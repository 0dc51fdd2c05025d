# frozen_string_literal: true

# How to wait: a loop of Thread.pass beside a wait on a queue, with and without I/O in the other thread (calls, CPU time, throughput); and that an idle
# process with a pool, and with Kafka, uses no CPU.

require "json"
# Before any Ractor: Ruby 4.0.5 may crash when it reads class variables of what was loaded later.
require "guildhall/kafka" unless ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "").empty?
require "guildhall"
require_relative "support/bench"
require_relative "support/pool_peers"

Warning[:experimental] = false

# The rows.
class WaitRows
  ITEMS = 300
  TEXT = JSON.generate({"items" => Array.new(50) { |number| {"sku" => "SKU-#{number}", "price" => number} }}).freeze
  SECONDS = 2 # of being idle

  def initialize(bench)
    @bench = bench
  end

  def run
    {"CPU-bound" => -> { JSON.parse(TEXT) }, "with I/O" => -> { sleep(0.001) }}.each do |name, work|
      pair(name, work) if @bench.wanted?("waits.#{name}")
    end
    idle("a pool") { Guildhall::Pool.new.tap { |pool| pool.map([TEXT] * 200, Guildhall::JSON, parallel: true) }.method(:shutdown) }
    idle("a pool and Kafka") { kafka }
  end

  private

  # A consumer waits for items that a producer takes its time to make.
  def pair(name, work)
    passing, waiting = [method(:passing), method(:waiting)].map { |way| measure(way, work) }
    @bench.row("waits.#{name}, throughput", against: "Thread.pass", ratio: passing[:wall] / waiting[:wall], note: "queue")
    @bench.row("waits.#{name}, CPU", against: "Thread.pass", ratio: passing[:cpu] / waiting[:cpu], note: format("%.1f ms, %.1f", waiting[:cpu] * 1e3, passing[:cpu] * 1e3))
    @bench.row("waits.#{name}, calls", against: "Thread.pass", ratio: passing[:calls].fdiv(waiting[:calls]), note: "#{waiting[:calls]}, #{passing[:calls]} of Thread.pass")
  end

  def measure(way, work)
    rounds = Array.new([@bench.rounds, 3].max) do
      before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      calls = nil
      wall = PoolPeers.seconds { calls = way.call(work) }
      {wall:, cpu: Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before, calls:}
    end
    rounds.sort_by { |round| round[:wall] }[rounds.size / 2]
  end

  def passing(work)
    items = []
    producer = Thread.new { ITEMS.times { items << work.call } }
    taken = calls = 0
    until taken == ITEMS
      calls += 1
      items.shift ? taken += 1 : Thread.pass
    end
    producer.join
    calls
  end

  def waiting(work)
    items = Thread::Queue.new
    producer = Thread.new { ITEMS.times { items << work.call } }
    ITEMS.times { items.pop }
    producer.join
    ITEMS
  end

  def idle(name)
    return unless @bench.wanted?("waits.idle, #{name}")

    stop = yield
    sleep(1)
    before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    sleep(SECONDS)
    used = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before
    @bench.row("waits.idle, #{name}", against: "1 % of a core", ratio: 0.01 * SECONDS / [used, 1e-5].max, goal: 1, note: format("%.2f %%", 100 * used / SECONDS))
  rescue LoadError, Guildhall::Error => error
    @bench.note("waits.idle, #{name}: #{error.message}")
  ensure
    stop&.call
  end

  # On a real broker: the embedded one runs in this process, and would be measured, too.
  def kafka
    servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
    raise Guildhall::ArgumentError, "needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is" if servers.empty?

    require_relative "kafka/topics"
    name = Topics.new(servers).empty
    consumer = Class.new(Guildhall::Kafka::Consumer) { def consume = nil }
    Guildhall::Kafka.configure do |config|
      config.kafka = {"bootstrap.servers": servers}
      config.group_id = "bench-idle-#{Process.pid}"
    end
    Guildhall::Kafka.routes { topic(name) { consumer(consumer) } }
    Guildhall::Kafka.start
    Guildhall::Kafka.method(:stop)
  end
end

Bench.script("waits") { |bench| WaitRows.new(bench).run }
