# frozen_string_literal: true

# Proves that a server, and each process of a swarm, that puts off full collections runs one itself when what minor collections cannot
# free has grown, that it reports that, that every message is consumed in order meanwhile, and that Ruby has its collector back after
# the stop.
# broker: real
require_relative "../support/scenario"

PROCESS = <<~'RUBY'
  require "guildhall/kafka"
  require "guildhall/json"
  $stdout.sync = true
  Node = Struct.new(:text, :following)
  # Goes along a list, and keeps its end only.
  class Listing < Guildhall::Kafka::Consumer
    def consume
      grow until collected["run"]["memory"].positive?
      messages.each { |message| $stdout.write("message #{partition} #{message.payload["i"]}\n") }
    end

    def grow
      unless @last
        @last = Node.new
        4.times { GC.start } # it is old now
      end
      5.times { @last = @last.following = Node.new("x" * 1_000_000) }
      sleep(0.02)
    end

    def collected = Guildhall::Kafka.application.report.fetch("full_collections")
    def revoked = $stdout.write("state #{collected["state"]}\n")
  end
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ARGV[0], "auto.offset.reset": "earliest", "session.timeout.ms": 6_000}
    config.group_id = ARGV[2]
    config.garbage_collection = :deferred
    config.max_messages = 10
  end
  Guildhall::Kafka.routes do
    topic(ARGV[1]) do
      consumer Listing
      deserializer Guildhall::JSON
    end
  end
  status = ARGV[3] == "swarm" ? Guildhall::Kafka.swarm(processes: 2, memory_limit: 4_000) : Guildhall::Kafka.run
  puts "allowed #{GC.config[:rgengc_allow_full_mark]}"
  exit(status)
RUBY

Scenario.run do
  next notes << "not on this Ruby" if Guildhall::Kafka::Runtime::FullCollections.refusal

  name = topic(partitions: 2)
  2.times { |partition| produce(name, (0...100).map { |i| {payload: %({"i": #{i}}), partition:} }) }
  %w[server swarm].each do |mode|
    group = "#{self.group}-#{mode}"
    lines = []
    IO.popen([RbConfig.ruby, "-e", PROCESS, servers, name, group, mode]) do |process|
      reader = Thread.new { process.each_line(chomp: true) { |line| lines << line.split } }
      eventually("all is consumed by the #{mode}") { [0, 1].all? { |partition| lines.include?(["message", partition.to_s, "99"]) } }
      Process.kill(:TERM, process.pid)
      check(reader.join(60), "the #{mode} has not stopped")
      Process.wait(process.pid)
      equal(0, $?.exitstatus, "exit status of the #{mode}")
    end
    2.times do |partition|
      consumed = lines.filter_map { |what, number, i| i.to_i if what == "message" && number == partition.to_s }
      equal((0...100).to_a, consumed.uniq, "messages of partition #{partition}")
    end
    equal([%w[allowed true]], lines.select { |line| line.first == "allowed" }, "Ruby's collector after the #{mode}")
    equal([100, 100], committed(name, partitions: 2, group:), "committed")
  end
end
