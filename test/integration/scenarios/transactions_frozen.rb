# frozen_string_literal: true

# broker: real
# stress: more members are frozen, at random points
#
# Proves that a consumer that is frozen (SIGSTOP) during a transaction, until its partitions belong to another member, can commit
# nothing of it when it continues: it is fenced, reports that, rejoins the group and works again. A `read_committed` reader finds the
# result of each message once and in order.
require_relative "../support/scenario"

FREEZING = <<~'RUBY'
  require "guildhall/kafka"
  $stdout.sync = true
  TARGET = ARGV[3]
  REST = [Float(ARGV[4])] # seconds that the first transaction is open
  class Doubling < Guildhall::Kafka::Consumer
    def consume
      messages.each_slice(5) do |slice|
        transaction do
          slice.map { |message| produce_async(topic: TARGET, partition:, payload: message.offset.to_s) }.each(&:wait) # a broker has it
          $stdout.syswrite("open\n")
          sleep(REST.shift || (rand * 0.02))
          mark_as_consumed(slice.last)
        end
        $stdout.syswrite("committed\n")
      end
    end
  end
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ARGV[0], "auto.offset.reset": "earliest", "session.timeout.ms": 6_000, "heartbeat.interval.ms": 300}
    config.group_id = ARGV[1]
    config.max_messages = 20
    config.pause_timeout = 0.01
    config.logger = nil
  end
  Guildhall::Kafka.instrumentation.subscribe("error.occurred") do |event|
    $stdout.syswrite("error #{event.payload[:type]}: #{event.payload[:error].class}: #{event.payload[:error].message.lines.first}\n")
  end
  Guildhall::Kafka.routes do
    topic(ARGV[2]) do
      consumer Doubling
      transactional
    end
  end
  exit(Guildhall::Kafka.run)
RUBY

# A member in a process of its own, and what it says.
FreezingMember = Struct.new(:pid, :lines) do
  def self.start(*arguments)
    output, writer = IO.pipe
    lines = Thread::Queue.new
    pid = spawn(RbConfig.ruby, "-e", FREEZING, *arguments.map(&:to_s), out: writer)
    writer.close
    Thread.new { output.each_line(chomp: true) { |line| lines << line } }
    new(pid, lines)
  end

  # @return [Array<String>] what it has said up to the line
  def said(start)
    said = []
    said << (lines.pop(timeout: Scenario::LIMIT) || raise(Scenario::Failed, "it never said #{start}, but #{said}")) until said.last&.start_with?(start)
    said
  end

  def signal(name) = Process.kill(name, pid)

  def stop(name)
    signal(:CONT)
    signal(name)
    Process.wait2(pid).last
  end
end

Scenario.run do
  source = topic(partitions: 2)
  target = topic(partitions: 2, name: "target")
  count = 0
  more = lambda do
    produce(source, (0...200).map { |i| {payload: i.to_s, partition: i % 2} })
    count += 100
  end
  all_committed = lambda do
    eventually("all are committed") do
      sleep(0.3)
      committed(source, partitions: 2) == [count] * 2
    end
  end
  members = []
  start = ->(rest) { members << FreezingMember.start(servers, group, source, target, rest) }
  more.call
  start.call(1)
  members.first.said("open")
  members.first.signal(:STOP) # its transaction is open, and what it has produced is with the broker
  start.call(0)
  all_committed.call
  members.first.signal(:CONT)
  members.first.said("error consumer.consume: Guildhall::Kafka::TransactionError")
  more.call
  members.first.said("committed")
  (long? ? 20 : 1).times do
    more.call
    frozen = members.sample
    frozen.lines.clear
    frozen.said("open")
    sleep(rand * 0.05)
    frozen.signal(:STOP)
    all_committed.call
    frozen.signal(:CONT)
    more.call
    frozen.said("committed")
  end
  all_committed.call
  members.each { |member| check(member.stop(:TERM).success?, "a member did not stop in order") }
  members.clear
  configure
  read = Array.new(2) { [] }
  Guildhall::Kafka.each_message(target) { |message| read[message.partition] << message.raw_payload }
  read.each { |results| equal((0...count).map(&:to_s), results, "results, in order") }
  notes << "#{count * 2} results, each once"
ensure
  members&.each { |member| member.stop(:KILL) }
end
