# frozen_string_literal: true

# The queue beside what people would use instead: between Ractors, between threads, and alone.

require "guildhall/striped_queue"
require "ractor_queue"
require_relative "support/bench"
require_relative "support/latency"

Warning[:experimental] = false

# One way of handing numbers over, for all contenders in the same shape.
module Handover
  CAPACITY = 1024

  def self.value(ractor) = ractor.respond_to?(:value) ? ractor.value : ractor.take

  # Of all items until nil.
  def self.sum
    total = 0
    while (item = yield)
      total += item
    end
    total
  end

  def self.between_ractors(queue, ractors, items)
    consumers = Array.new(ractors) { Ractor.new(queue) { |source| Handover.sum { source.pop } } }
    producers = Array.new(ractors) do |number|
      Ractor.new(queue, number, ractors, items) { |target, first, step, limit| first.step(limit - 1, step) { |item| target.push(item) } }
    end
    producers.each { |ractor| value(ractor) }
    # A nil of ours would overtake what lies in other stripes.
    queue.is_a?(Guildhall::Queue) ? queue.close : ractors.times { queue.push(nil) }
    consumers.sum { |ractor| value(ractor) }
  end

  # A Port belongs to its consumer, which hands it out.
  def self.through_port(items)
    consumer = Ractor.new { Handover.sum { Ractor.receive } }
    producer = Ractor.new(consumer, items) { |target, limit| limit.times { |item| target.send(item) } }
    value(producer)
    consumer.send(nil)
    value(consumer)
  end

  # Each side moves 64 at once. The batch is always the same: making it is none of the queue's business.
  def self.many_between_ractors(queue, items)
    consumer = Ractor.new(queue) do |source|
      total = 0
      while (some = source.pop_many(64))
        total += some.sum
      end
      total
    end
    producer = Ractor.new(queue, items) do |target, limit|
      batch = Array.new(64) { |n| n }
      (limit / 64).times { target.push_many(batch) }
    end
    value(producer)
    queue.close
    value(consumer)
  end

  # The same numbers, one at a time.
  def self.singly_between_ractors(queue, items)
    consumer = Ractor.new(queue) { |source| Handover.sum { source.pop } }
    producer = Ractor.new(queue, items) do |target, limit|
      batch = Array.new(64) { |n| n }
      (limit / 64).times { batch.each { |item| target.push(item) } }
    end
    value(producer)
    queue.push(nil)
    value(consumer)
  end

  # Jobs to any free Ractor, answers to one; the job is nothing.
  def self.pool(jobs, answers, workers, count)
    ractors = Array.new(workers) { Ractor.new(jobs, answers) { |from, to| while (item = from.pop) do to.push(item) end } }
    feeder = Ractor.new(jobs, count) { |to, limit| limit.times { |item| to.push(item) } }
    total = 0
    count.times { total += answers.pop }
    value(feeder)
    workers.times { jobs.push(nil) }
    ractors.each { |ractor| value(ractor) }
    total
  end

  def self.port_pool(workers, count)
    answers = Ractor.current
    ractors = Array.new(workers) { Ractor.new(answers) { |to| while (item = Ractor.receive) do to.send(item) end } }
    feeder = Ractor.new(ractors.dup.freeze, count) { |to, limit| limit.times { |item| to[item % to.size].send(item) } }
    total = 0
    count.times { total += Ractor.receive }
    value(feeder)
    ractors.each { |ractor| ractor.send(nil) }
    ractors.each { |ractor| value(ractor) }
    total
  end

  def self.between_threads(queue, items)
    consumer = Thread.new { sum { queue.pop } }
    items.times { |item| queue.push(item) }
    queue.push(nil)
    consumer.value
  end

  def self.alone(queue, items)
    total = 0
    items.times do |item|
      queue.push(item)
      total += queue.pop
    end
    total
  end

  def self.round_trips(there, back, trips)
    echo = Ractor.new(there, back) { |source, target| while (item = source.pop) do target.push(item) end }
    total = 0
    trips.times do |item|
      there.push(item)
      total += back.pop
    end
    there.push(nil)
    value(echo)
    total
  end

  def self.port_round_trips(trips)
    echo = Ractor.new(Ractor.current) { |main| while (item = Ractor.receive) do main.send(item) end }
    total = 0
    trips.times do |item|
      echo.send(item)
      total += Ractor.receive
    end
    echo.send(nil)
    value(echo)
    total
  end
end

Bench.script("queue") do |bench|
  items = bench.quick? ? 100_000 : 300_000
  ours = -> { Guildhall::Queue.new(Handover::CAPACITY) }
  theirs = -> { RactorQueue.new(capacity: Handover::CAPACITY) }
  bench.compare("queue.1p1c", -> { Handover.between_ractors(ours.call, 1, items) },
    {"Ractor::Port" => -> { Handover.through_port(items) }, "ractor_queue" => -> { Handover.between_ractors(theirs.call, 1, items) }},
    goals: {"Ractor::Port" => 2.5, "ractor_queue" => 25})
  [2, 4, 8].each do |ractors|
    bench.compare("queue.#{ractors}p#{ractors}c", -> { Handover.between_ractors(ours.call, ractors, items) },
      {"ractor_queue" => -> { Handover.between_ractors(theirs.call, ractors, items) }}, goals: {"ractor_queue" => 6})
  end
  trips = items / 10
  bench.compare("queue.round_trip", -> { Handover.round_trips(ours.call, ours.call, trips) },
    {"Ractor::Port" => -> { Handover.port_round_trips(trips) },
     "ractor_queue" => -> { Handover.round_trips(theirs.call, theirs.call, trips) }},
    goals: {"Ractor::Port" => 8, "ractor_queue" => 3})
  striped = -> { Guildhall::StripedQueue.new(Handover::CAPACITY, stripes: 4) }
  [1, 2, 4, 8].each do |ractors|
    bench.compare("queue.striped_#{ractors}p#{ractors}c", -> { Handover.between_ractors(striped.call, ractors, items) },
      {"Guildhall::Queue" => -> { Handover.between_ractors(ours.call, ractors, items) }})
  end
  idle = Bench::Latency.new(bench.quick? ? 40 : 100, 0.005)
  if defined?(Ractor::Port) && bench.wanted?("queue.round_trip_idle")
    bench.row("queue.round_trip_idle", against: "Ractor::Port", ratio: idle.ratio(bench.rounds), goal: 1.3)
  end
  bench.compare("queue.pool_identity", -> { Handover.pool(ours.call, ours.call, 2, trips) },
    {"Ractor::Port" => -> { Handover.port_pool(2, trips) }, "ractor_queue" => -> { Handover.pool(theirs.call, theirs.call, 2, trips) }})
  batches = items / 64 * 64
  bench.compare("queue.many_of_64", -> { Handover.many_between_ractors(ours.call, batches) },
    {"push and pop" => -> { Handover.singly_between_ractors(ours.call, batches) }}, goals: {"push and pop" => 1.5})
  sized = -> { Thread::SizedQueue.new(Handover::CAPACITY) }
  bench.compare("queue.threads", -> { Handover.between_threads(ours.call, items) },
    {"Thread::SizedQueue" => -> { Handover.between_threads(sized.call, items) }}, goals: {"Thread::SizedQueue" => 1.0})
  bench.compare("queue.alone", -> { Handover.alone(ours.call, items) },
    {"Thread::SizedQueue" => -> { Handover.alone(sized.call, items) }}, goals: {"Thread::SizedQueue" => 1.0})
end
