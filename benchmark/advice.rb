# frozen_string_literal: true

# Whether the advisor's advice, followed, gives the gain that it promised: five different tasks, each advised first, and then measured
# again with new pools and other payloads of the same kind, as an application would call them. A ratio of 1 is what was promised.

require "json"
require "guildhall"
require "guildhall/advisor"
require_relative "support/bench"
require_relative "data/corpus"
require_relative "data/order_task"

# The rows, one a task.
class AdviceRows
  CLOSE = 0.85 # of what was promised, or the other way round

  # Checks in plain Ruby, as applications have them.
  module Checksum
    def self.call(text)
      sum = 0
      text.each_byte { |byte| sum = ((sum * 31) + byte) % 1_000_003 }
      sum
    end
  end

  module Render
    def self.call(text)
      order = Guildhall::JSON.document(text)
      order["items"].map { |item| "<li>#{item["sku"]}: #{item["qty"]} × #{item["price"]}</li>" }.join
    end
  end

  HASHES = Guildhall::JSON >> Guildhall.map { |order| order["items"].sum { |item| item["qty"] } }
  FIELDS = Guildhall::JSON.lazy >> Guildhall.map { |order| [order["id"], order["user"]["email"]] }
  TASKS = {"whole Hashes" => [HASHES, 5000], "five fields, lazy" => [FIELDS, 19_000], "plain Ruby" => [Checksum, 1000],
           "rendering" => [Render, 5000], "big Hashes" => [Guildhall::JSON, 78_000]}.freeze

  def initialize(bench)
    @bench = bench
  end

  def run
    TASKS.each do |name, (task, bytes)|
      next unless @bench.wanted?("advice.#{name}")

      samples, others = [1, 2].map { |seed| Corpus.new(bytes: bytes * 300, seed:).orders(bytes) }
      advice = Guildhall::Advisor.new(task, samples, **quick).advise
      advice.pays? ? follow(name, task, advice, others) : stay(name, task, others)
    end
  end

  private

  def quick = @bench.quick? ? {rounds: 3, batches: [10, 50, 250]} : {}

  def follow(name, task, advice, payloads)
    best = advice.best
    batches = batches(payloads, best.batch, advice.cost.seconds)
    gain = best.workers.zero? ? gain(task, batches, &inline(advice.task)) : on_pool(best.workers) { |pool| gain(task, batches, &pooled(pool, advice.task)) }
    @bench.row("advice.#{name}", against: "the gain promised", ratio: [gain / best.gain, best.gain / gain].min, goal: CLOSE,
      note: format("promised %.2f (%.2f to %.2f) with %d workers, batches of %d%s; measured %.2f", best.gain, *best.spread, best.workers, best.batch,
        (", lazy" if best.variant == :lazy), gain))
  end

  # Where it advises to stay, a pool must not be faster.
  def stay(name, task, payloads)
    batches = batches(payloads, 250, 1e-5)
    gain = on_pool(Guildhall::Pool::Settings.default_workers) { |pool| gain(task, batches, &pooled(pool, task)) }
    @bench.row("advice.#{name}", against: "no gain promised", ratio: 1.1 / gain, goal: CLOSE, note: format("measured %.2f", gain))
  end

  def batches(payloads, size, seconds)
    payloads.cycle.each_slice(size).first([(0.1 / seconds / size).ceil, 1].max)
  end

  def on_pool(workers, &) = Guildhall::Pool.open(workers:, &)
  def pooled(pool, task) = ->(batches) { batches.each { |batch| pool.map(batch, task, parallel: true) } }
  def inline(task) = ->(batches) { batches.each { |batch| batch.each { |payload| task.call(payload) } } }

  def gain(task, batches, &advised)
    loop = inline(task)
    raise "wrong results" unless batches.first.map { |payload| task.call(payload) }.size == batches.first.size

    [loop, advised].each { |way| 3.times { way.call(batches) } }
    pairs = Array.new(@bench.rounds * 3) { [seconds { loop.call(batches) }, seconds { advised.call(batches) }] }
    Bench.median(pairs.map { |one, other| one / other })
  end

  def seconds
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
  end
end

Bench.script("advice") { |bench| AdviceRows.new(bench).run }
