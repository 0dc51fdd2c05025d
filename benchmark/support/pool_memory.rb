# frozen_string_literal: true

# Prints how many MB of resident memory a worker of a pool takes that has worked, in a process that does nothing else.

require "guildhall/pool"
require "guildhall/json"

Warning[:experimental] = false
texts = Array.new(500) { |number| %({"id":#{number},"name":"#{"a" * 600}"}).freeze }
resident = lambda do
  GC.start
  File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i / 1024.0
end
work = ->(pool) { 50.times { pool.map(texts, Guildhall::JSON.lazy, parallel: true) } }

one, nine = Array.new(2) { |number| Guildhall::Pool.new(workers: [1, 9][number]) }
work.call(one)
before = resident.call
work.call(nine)
puts((resident.call - before) / 9)
