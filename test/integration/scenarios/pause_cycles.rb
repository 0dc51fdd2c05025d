# frozen_string_literal: true

# everyday: no
# stress: 100,000 cycles
#
# Proves that 100,000 pauses and resumptions of a partition with a full backlog, by other threads than its consumer's,
# cost no memory, and that everything is consumed, once and in order.
require_relative "../support/scenario"

Scenario.run do
  partitions = 2
  count = 100_000
  name = topic(partitions:)
  produce_to(name, partitions, count)
  consumer = accounting(pause: 0.0001)
  # Long, so that a machine that stalls for a while is not taken for a dead member.
  configure(max_messages: 100, librdkafka: {"session.timeout.ms": 120_000})
  routes { topic(name) { consumer(consumer) } }
  start
  application = Guildhall::Kafka.application
  eventually("begun") { account.settled > 100 }
  resident = -> { File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i / 1024 }
  cycle = lambda do |index|
    application.partitions.each do |partition|
      partition.pause([nil, 10, 0.001][index % 3])
      partition.resume
    end
  end
  20_000.times(&cycle)
  GC.start
  before = resident.call
  Array.new(2) { |thread| Thread.new { 40_000.times { |index| cycle.call(index + thread) } } }.each(&:join)
  GC.start
  after = resident.call
  check(after < before + 30, "memory: #{before} MB before, #{after} MB after")
  eventually_complete("all consumed", 600)
  stop
  equal(partitions * count, account.consumed, "handled once")
  notes << "#{before} MB, #{after} MB" << "#{account.lives} assignments"
end
