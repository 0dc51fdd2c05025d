# frozen_string_literal: true

# Prints how many MB of resident memory a worker takes that has worked, in a process that does nothing else: `pool` for a
# worker of a pool, `ractor` for a bare Ractor that calls JSON.parse, which is the least that a worker can take.

require "json"
require "guildhall/pool"
require "guildhall/json"
require_relative "pool_peers"

Warning[:experimental] = false
MANY = 40 # so that what the heap happens to grow by counts little
texts = Ractor.make_shareable(Array.new(500) { |number| %({"id":#{number},"name":"#{"a" * 600}"}) })
NAP = Ractor.current.instance_exec { ->(seconds) { sleep(seconds) } }
PARSE = Ractor.current.instance_exec { ->(part) { part.each { |text| JSON.parse(text) }.size } }
# Each starts workers, and returns what gives them something to do.
starts = {
  "pool" => lambda do |count|
    pool = Guildhall::Pool.new(workers: count)
    lambda do |_|
      pool.map([0.002] * count, NAP, parallel: true, slice: 1) # for each of them
      pool.map(texts, Guildhall::JSON.lazy, parallel: true)
    end
  end,
  "ractor" => lambda do |count|
    inbox = PoolPeers.inbox
    workers = Array.new(count) { |number| PoolPeers.worker(inbox, number, PARSE) }
    ->(_) { workers.each { |worker| worker.send(texts) }.each { PoolPeers.take(inbox) } }
  end
}

start = starts.fetch(ARGV.fetch(0))
one, many = [1, MANY].map(&start)
50.times(&one)
Process.warmup # what is free now in Ruby's heap and the C library's would be taken first
before = PoolPeers.resident
50.times(&many)
GC.start
puts((PoolPeers.resident - before) / MANY)
