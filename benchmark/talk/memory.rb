# frozen_string_literal: true

# Resident memory of pools of 5, 10 and 20 workers: idle, after work, and per worker; each in a process of its own.

require "open3"
require "rbconfig"
require_relative "support"

SCRIPT = <<~'RUBY'
  require "guildhall"
  Warning[:experimental] = false
  resident = -> { GC.start; File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i / 1024.0 }
  texts = Array.new(500) { |number| %({"id":#{number},"name":"#{"a" * 5000}"}).freeze }
  texts.each { |text| Guildhall::JSON.document(text) }
  before = resident.call
  pool = Guildhall::Pool.new(workers: Integer(ARGV[0]))
  pool.warm_up(Guildhall::JSON.lazy)
  sleep(0.2)
  idle = resident.call
  raise "wrong results" unless pool.map(texts, Guildhall::JSON.lazy, parallel: true).each_with_index.all? { |text, index| text["id"] == index }
  30.times { pool.map(texts, Guildhall::JSON.lazy, parallel: true) }
  puts [before, idle - before, resident.call - before].join(" ")
RUBY

Bench.script("memory") do |bench|
  [5, 10, 20].each do |workers|
    next unless bench.wanted?("memory.#{workers} workers")

    out, status = Open3.capture2(RbConfig.ruby, "-e", SCRIPT, workers.to_s)
    abort("memory: #{status}") unless status.success?
    before, idle, active = out.split.map(&:to_f)
    bench.row("memory.#{workers} workers", against: "#{before.round} MB without a pool", ratio: before / [active, 0.1].max,
      note: format("%.1f MB idle, %.1f MB after work, %.2f MB a worker", idle, active, active / workers))
  end
end
