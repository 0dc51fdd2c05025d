# frozen_string_literal: true

# What is left behind costs: the throughput of a thread that decodes JSON, and of a thread that hands items to another one, beside 10, 100 and 1,000
# idle threads, blocked poppers of a queue, and idle Ractors; against the same without them.

require "json"
require "guildhall"
require_relative "support/bench"
require_relative "support/pool_peers"

Warning[:experimental] = false

# The rows.
class LeakRows
  COUNTS = [10, 100, 1000].freeze
  TEXT = JSON.generate({"items" => Array.new(50) { |number| {"sku" => "SKU-#{number}", "price" => number} }}).freeze

  def initialize(bench)
    @bench = bench
  end

  def run
    raise "wrong results" unless parse(1) == JSON.parse(TEXT)

    {"idle threads" => method(:threads), "blocked poppers" => method(:poppers), "idle Ractors" => method(:ractors)}.each do |kind, leak|
      COUNTS.each { |count| row(kind, count, leak) if @bench.wanted?("leaks.#{count} #{kind}") }
    end
  end

  private

  def row(kind, count, leak)
    works = {"JSON" => -> { parse(100) }, "hand-overs" => -> { hand_over(200) }, "GC" => -> { GC.start }}
    alone = works.transform_values { |work| measure(&work) }
    release = leak.call(count)
    beside = works.transform_values { |work| measure(&work) }
    works.each_key do |name|
      @bench.row("leaks.#{count} #{kind}, #{name}", against: "none", ratio: alone[name] / beside[name],
        note: format("%.2f ms, %.2f without", beside[name] * 1000, alone[name] * 1000))
    end
  ensure
    release&.call
  end

  def measure(&) = Bench.median(Array.new(@bench.quick? ? 15 : 60) { PoolPeers.seconds(&) })
  def parse(times) = Array.new(times) { JSON.parse(TEXT) }.last

  def hand_over(times)
    queue = Thread::Queue.new
    thread = Thread.new { times.times { queue.pop } }
    times.times { |number| queue << number }
    thread.join
  end

  def threads(count)
    all = Array.new(count) { Thread.new { sleep } }
    -> { all.each(&:kill).each(&:join) }
  end

  def poppers(count)
    queue = Thread::Queue.new
    all = Array.new(count) { Thread.new { queue.pop } }
    -> { queue.close && all.each(&:join) }
  end

  def ractors(count)
    queue = Guildhall::Queue.new(1)
    all = Array.new(count) { Ractor.new(queue) { |one| one.pop(timeout: nil) } }
    lambda do
      queue.close
      all.each { |ractor| ractor.respond_to?(:join) ? ractor.join : ractor.take }
    end
  end
end

Bench.script("leaks") { |bench| LeakRows.new(bench).run }
