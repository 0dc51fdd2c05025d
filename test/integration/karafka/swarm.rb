# frozen_string_literal: true

# Swarm mode: Karafka forks. Each node has its own workers; all processes end when the supervisor receives SIGTERM.
require_relative "../support/karafka_application"
require "tempfile"

NAME = KarafkaApplication.topic("swarm", partitions: 2)
JOURNAL = Tempfile.create("swarm")

module Own
  def self.call(payload) = "#{payload} #{Ractor.main? ? "main" : "worker"}"
end

class Collector < Karafka::BaseConsumer
  def consume = messages.each { |message| JOURNAL.syswrite("#{Process.pid} #{message.payload}\n") }
end

class App < Karafka::App
  KarafkaApplication.setup(self)
  Guildhall::Karafka.setup do |config|
    config.concurrency = 1
    config.parallel = true
  end
  setup { |config| config.swarm.nodes = 2 }
  routes.draw do
    topic(NAME) do
      consumer Collector
      deserializer Guildhall::Karafka.parallel(Own)
    end
  end
end

KarafkaApplication.produce(NAME, Array.new(600, &:to_s), partitions: 2)
Karafka.producer.close
supervisor = fork { Karafka::Swarm::Supervisor.new.run }
lines = -> { File.readlines(JOURNAL.path, chomp: true).map(&:split) }
KarafkaApplication.eventually("all consumed") { lines.call.map { |line| line[1] }.uniq.size == 600 }
Process.kill(:TERM, supervisor)
Process.wait(supervisor)
pids, _, where = lines.call.transpose
KarafkaApplication.check("nodes: #{pids.uniq}") { pids.uniq.size.between?(1, 2) && !pids.include?(Process.pid.to_s) }
KarafkaApplication.check("workers decoded #{where.tally}") { where.count("worker") > 300 }
puts "ok"
$stdout.flush
exit!(0)
