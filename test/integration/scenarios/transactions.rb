# frozen_string_literal: true

# broker: real
# stress: 20 kills
#
# Proves that what a consumer produces and marks in a transaction happens exactly once: two members share the partitions, are killed (-9) at
# random points and started again, and raise in the middle of transactions now and then. A reader of what they have committed finds the
# result of each message once and in order, and none of a transaction that was aborted; nothing is left behind in the group's lag.
require_relative "../support/scenario"

WORKER = <<~'RUBY'
  require "guildhall/kafka"
  require "json"
  $stdout.sync = true
  TARGET = ARGV[3]
  class Doubling < Guildhall::Kafka::Consumer
    def consume
      messages.each_slice(5) do |slice|
        fails = rand(8).zero?
        transaction do
          slice.each { |message| produce_async(topic: TARGET, partition:, payload: "#{message.offset} #{fails ? "aborted" : "done"}") }
          sleep(rand * 0.02)
          raise "on purpose" if fails

          mark_as_consumed(slice.last)
        end
        $stdout.syswrite("#{slice.size}\n")
      end
    end
  end
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ARGV[0], "auto.offset.reset": "earliest", **JSON.parse(ARGV[4])}
    config.group_id = ARGV[1]
    config.commit_interval = 0.1
    config.max_messages = 20
    config.pause_timeout = 0.01
    config.logger = nil
  end
  Guildhall::Kafka.instrumentation.subscribe("error.occurred") do |event|
    error = event.payload[:error]
    warn("#{Process.pid} #{event.payload[:type]}: #{error.class}: #{error.message}") unless error.message == "on purpose"
  end
  Guildhall::Kafka.routes do
    topic(ARGV[2]) do
      consumer Doubling
      transactional
    end
  end
  exit(Guildhall::Kafka.run)
RUBY

Scenario.run do
  count = long? ? 6_000 : 1_200
  source = topic(partitions: 2)
  target = topic(partitions: 2, name: "target")
  produce(source, (0...count).map { |i| {payload: i.to_s, partition: i % 2} })
  handled = Thread::Queue.new
  readers = []
  start_worker = lambda do
    output, writer = IO.pipe
    pid = spawn(RbConfig.ruby, "-e", WORKER, servers, group, source, target, JSON.generate(Scenario.membership), out: writer)
    writer.close
    readers << Thread.new { output.each_line { handled << 1 } }
    pid
  end
  stop_worker = lambda do |pid, signal|
    Process.kill(signal, pid)
    Process.wait2(pid).last
  end
  workers = Array.new(2) { start_worker.call }
  kills = 0
  goal = long? ? 20 : 3
  while kills < goal
    rand(10..(long? ? 40 : 50)).times { check(handled.pop(timeout: Scenario::LIMIT), "no transaction was committed for a minute") }
    index = rand(2)
    stop_worker.call(workers[index], :KILL)
    workers[index] = start_worker.call
    kills += 1
  end
  eventually("all are committed", 120) do
    sleep(0.3)
    committed(source, partitions: 2) == [count / 2] * 2
  end
  workers.each { |worker| check(stop_worker.call(worker, :TERM)&.success?, "a member did not stop in order") }
  readers.each { |reader| reader.join(10) }
  configure
  read = Array.new(2) { [] }
  Guildhall::Kafka.each_message(target) { |message| read[message.partition] << message.raw_payload }
  workers.clear
  read.each { |results| equal((0...(count / 2)).map { |offset| "#{offset} done" }, results, "results, in order") }
  routes { topic(source) { consumer(Class.new(Guildhall::Kafka::Consumer) { def consume = nil }) } }
  equal([0, 0], Guildhall::Kafka.application.lag.map(&:messages), "lag")
  notes << "#{kills} kills" << "#{count} results, each once"
ensure
  workers&.each { |worker| stop_worker.call(worker, :KILL) }
end
