# frozen_string_literal: true

# Proves that a process whose consumer never comes back leaves at its deadline with status 1, and has cleaned up by then:
# what the others have done is committed, their `shutdown` was called, and the group was left, so that the next member
# need not wait for the session to end; what hung is done again there.
require_relative "../support/scenario"

SERVER = <<~'RUBY'
  require "guildhall/kafka"
  $stdout.sync = true
  class Hanging < Guildhall::Kafka::Consumer
    def consume
      puts "began #{partition}"
      partition.zero? ? sleep : puts("ended #{partition}")
    end

    def shutdown
      puts "shutdown #{partition}"
    end
  end
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ARGV[0], "auto.offset.reset": "earliest", "session.timeout.ms": Integer(ARGV[3])}
    config.group_id = ARGV[2]
    config.shutdown_timeout = 3
  end
  Guildhall::Kafka.routes { topic(ARGV[1]) { consumer Hanging } }
  exit(Guildhall::Kafka.run)
RUBY

Scenario.run do
  name = topic(partitions: 2)
  produce_to(name, 2, 10)
  session = embedded ? 6_000 : 45_000
  IO.popen([RbConfig.ruby, "-e", SERVER, servers, name, group, session.to_s]) do |server|
    lines = Array.new(3) { server.gets.chomp }
    equal(["began 0", "began 1", "ended 1"], lines.sort, "at work")
    took, = timed do
      Process.kill(:TERM, server.pid)
      lines = server.read.lines(chomp: true)
      Process.wait(server.pid)
    end
    equal(1, $?.exitstatus, "exit status")
    check(took.between?(1, 3 + Guildhall::Kafka::Application::GRACE_SECONDS + 20), "it took #{took.round(1)} s to end")
    equal(["shutdown 1"], lines, "shutdown was called")
    notes << "#{took.round(1)} s"
  end
  equal([0, 10], committed(name, partitions: 2), "committed")

  10.times { |number| account.handled(1, number, self) } # by the one that is gone
  consumer = accounting
  configure(librdkafka: {"session.timeout.ms": 45_000})
  routes { topic(name) { consumer(consumer) } }
  start
  took, = timed { eventually("assigned") { Guildhall::Kafka.application.partitions.size == 2 } }
  check(embedded || took < 20, "the group was not left: #{took.round(1)} s until the partitions were assigned")
  eventually_complete("what hung is done")
  stop
  equal(20, account.consumed, "handled once")
end
