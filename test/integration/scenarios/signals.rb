# frozen_string_literal: true

# Proves that a process that runs an application stops on SIGTERM: it finishes what is in work, commits it, and exits
# with 0; and that a second signal ends it at once.
require_relative "../support/scenario"

SERVER = <<~'RUBY'
  require "guildhall/kafka"
  $stdout.sync = true
  class Slow < Guildhall::Kafka::Consumer
    def consume
      puts "began #{messages.first.offset} #{messages.size}"
      messages.each { sleep(Float(ARGV[3])) }
      puts "ended #{messages.last.offset}"
    end
  end
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ARGV[0], "auto.offset.reset": "earliest", "session.timeout.ms": 6_000}
    config.group_id = ARGV[2]
    config.shutdown_timeout = 20
  end
  Guildhall::Kafka.routes { topic(ARGV[1]) { consumer Slow } }
  exit(Guildhall::Kafka.run)
RUBY

Scenario.run do
  name = topic
  produce(name, (0...100).map { |i| {payload: i.to_s, partition: 0} })
  {0.01 => [1, 0], 0.2 => [2, 1]}.each do |pause, (signals, status)|
    group = "#{self.group}-#{signals}"
    IO.popen([RbConfig.ruby, "-e", SERVER, servers, name, group, pause.to_s]) do |server|
      began = server.gets
      signals.times do
        Process.kill(:TERM, server.pid)
        sleep(0.5) if signals > 1
      end
      lines = [began, *server.read.lines].map(&:split)
      Process.wait(server.pid)
      equal(status, $?.exitstatus, "exit status")
      ended = lines.filter_map { |what, offset| offset.to_i if what == "ended" }
      equal(signals == 1 ? lines.count { |what, _| what == "began" } : 0, ended.size, "batches finished")
      equal([(ended.last || -1) + 1], committed(name, group:), "committed")
    end
  end
end
