# frozen_string_literal: true

# ablation_work.rb KIND: does the work and prints how long it took, as JSON: CPU seconds for texts, seconds where threads wait.
require "json"
require "zlib"
require "guildhall/pool"
require "guildhall/json"
require_relative "../data/corpus"

Warning[:experimental] = false

# The work of each kind, which returns what has to be the same whatever the extension was built with.
module AblationWork
  BYTES = 30_000_000
  TRIPS = 30_000

  module_function

  def texts(kind)
    corpus = Corpus.new
    case kind
    when "orders 5 KB" then corpus.orders(5_000)
    when "fresh 5 KB" then corpus.fresh(5_000)
    when "unique keys" then corpus.nasty(:unique_keys)
    else corpus.public_send(kind)
    end
  end

  def decode(texts)
    (BYTES / texts.sum(&:bytesize)).clamp(1, nil).times { texts.each { |text| Guildhall::JSON.decode(text) } }
  end

  # Items that go to another Ractor and come back, one by one.
  def queue
    there = Guildhall::Queue.new(16)
    back = Guildhall::Queue.new(16)
    ractor = Ractor.new(there, back) { |from, to| while (item = from.pop) do to.push(item) end }
    sum = TRIPS.times.sum { |item| there.push(item) && back.pop }
    there.close
    ractor.value
    sum
  end

  def small_batches
    pool = Guildhall::Pool.new
    texts = Corpus.new.orders(620).first(8)
    (TRIPS / 10).times.sum { pool.map(texts, Guildhall::JSON, parallel: true).size }
  ensure
    pool.shutdown
  end

  def timed(clock)
    began = Process.clock_gettime(clock)
    digest = yield
    {time: Process.clock_gettime(clock) - began, digest:}
  end

  def run(kind)
    case kind
    when "queue" then timed(Process::CLOCK_MONOTONIC) { queue }
    when "small batches" then timed(Process::CLOCK_MONOTONIC) { small_batches }
    else
      texts = texts(kind)
      digest = Zlib.crc32(texts.map { |text| JSON.generate(Guildhall::JSON.decode(text)) }.join)
      timed(Process::CLOCK_PROCESS_CPUTIME_ID) { decode(texts) }.merge(digest:)
    end
  end
end

puts JSON.generate(AblationWork.run(ARGV.fetch(0)))
