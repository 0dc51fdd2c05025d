# frozen_string_literal: true

# stress: 20 kills
#
# Proves that a consumer that is killed (-9) at any point loses nothing: the next member begins at the last committed
# offset, in order, and repeats no more than what was handled since that commit.
require_relative "../support/scenario"

WORKER = <<~'RUBY'
  require "guildhall/kafka"
  require "json"
  $stdout.sync = true
  class Telling < Guildhall::Kafka::Consumer
    def consume
      messages.each do |message|
        sleep(0.001)
        $stdout.syswrite("#{message.partition} #{message.offset} #{object_id}\n")
      end
    end
  end
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ARGV[0], "auto.offset.reset": "earliest", **JSON.parse(ARGV[3])}
    config.group_id = ARGV[2]
    config.commit_interval = 0.1
    config.max_messages = 20
  end
  Guildhall::Kafka.routes { topic(ARGV[1]) { consumer Telling } }
  exit(Guildhall::Kafka.run)
RUBY

Scenario.run do
  count = long? ? 8_000 : 1_500
  name = topic(partitions: 2)
  produce(name, (0...count).map { |i| {payload: i.to_s, partition: i % 2} })
  seen = Array.new(2) { [] }
  kills = 0
  begins = [[0, 0], [0, 0]]
  worker = lambda do |&stop|
    IO.popen([RbConfig.ruby, "-e", WORKER, servers, name, group, JSON.generate(Scenario.membership(session: embedded ? 1_000 : 6_000))]) do |output|
      handled = []
      while (line = output.gets)
        partition, offset, life = line.split.map(&:to_i)
        handled << [partition, offset, life]
        seen[partition] << offset
        stop.call(output.pid, handled.size)
      end
      # One life each, unless the machine stood still until the membership was lost.
      lives = handled.group_by { |partition, _, life| [partition, life] }.transform_values { |list| list.map { |_, offset| offset } }
      lives.each_value { |offsets| check(offsets.each_cons(2).all? { |a, b| b == a + 1 }, "order within a life") }
      lives.uniq { |(partition, _), _| partition }.each do |(partition, _), offsets|
        check(offsets.first.between?(*begins[partition]), "began at #{offsets.first}, not within #{begins[partition]}")
      end
    end
    # A commit that was on its way when the process was killed may still arrive: the next one begins here or later, and
    # not beyond what was handled.
    committed(name, partitions: 2).each_with_index { |offset, partition| begins[partition] = [[offset.to_i, 0].max, seen[partition].last.to_i + 1] }
  end
  while kills < (long? ? 20 : 3)
    goal = rand(100..400)
    worker.call { |pid, handled| Process.kill(:KILL, pid) if handled == goal }
    kills += 1
  end
  worker.call { |pid, _| Process.kill(:TERM, pid) if seen.sum { |offsets| offsets.uniq.size } == count }
  seen.each { |offsets| equal((0...(count / 2)).to_a, offsets.uniq.sort, "offsets") }
  equal([count / 2] * 2, committed(name, partitions: 2), "committed")
  notes << "#{kills} kills" << "#{seen.sum(&:size) - count} handled twice"
end
