# frozen_string_literal: true

# broker: real
# stress: 5 kills of the broker
#
# Proves that transactions happen exactly once when the broker is killed (-9) and comes back, at random points: where a commit was not answered,
# what has become of it is found out, so that nothing is produced twice, and nothing lost. The consumer is a process of its own, which ends
# by force where a call of librdkafka has not returned (its issue 5456). On a broker of its own.
require_relative "../support/scenario"

COPIER = <<~'RUBY'
  require "guildhall/kafka"
  $stdout.sync = true
  TARGET = ARGV[3]
  class Copying < Guildhall::Kafka::Consumer
    def consume
      messages.each_slice(5) do |slice|
        transaction do
          slice.each { |message| produce_async(topic: TARGET, partition:, payload: message.offset.to_s) }
          mark_as_consumed(slice.last)
        end
        $stdout.syswrite("#{slice.size}\n")
      end
    end
  end
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ARGV[0], "auto.offset.reset": "earliest"}
    config.producer = {"transaction.timeout.ms": 15_000}
    config.group_id = ARGV[1]
    config.max_messages = 50
    config.pause_timeout = 0.05
    config.shutdown_timeout = 5
  end
  Guildhall::Kafka.routes do
    topic(ARGV[2]) do
      consumer Copying
      transactional
    end
  end
  exit(Guildhall::Kafka.run)
RUBY

Scenario.run do
  own_broker or next

  kills = long? ? 5 : 1
  count = 600 * (kills + 1)
  source = topic(partitions: 2)
  target = topic(partitions: 2, name: "target")
  produce(source, (0...count).map { |i| {payload: i.to_s, partition: i % 2} })
  output, writer = IO.pipe
  process = spawn(RbConfig.ruby, "-e", COPIER, servers, group, source, target, out: writer)
  writer.close
  handled = Thread::Queue.new
  reader = Thread.new { output.each_line { handled << 1 } }
  kills.times do
    rand(20..80).times { check(handled.pop(timeout: 90), "no transaction was committed for 90 s") }
    kill_broker(source) { sleep(rand * 3) }
  end
  eventually("committed", 120) do
    sleep(0.3)
    committed(source, partitions: 2) == [count / 2] * 2
  end
  Process.kill(:TERM, process)
  status = Process.wait2(process).last.exitstatus
  process = nil
  reader.join(10)
  check([0, 1].include?(status), "exit status #{status.inspect}")
  configure
  read = Array.new(2) { [] }
  Guildhall::Kafka.each_message(target) { |message| read[message.partition] << message.raw_payload }
  read.each { |results| equal((0...(count / 2)).map(&:to_s), results, "results, in order") }
  notes << "#{kills} kills" << "#{count} results, each once" << "exit status #{status}"
ensure
  if process
    Process.kill(:KILL, process)
    Process.wait(process)
  end
end
