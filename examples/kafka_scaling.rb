# frozen_string_literal: true

# A swarm of two processes, with two members of the group each. Needs no broker. Run it with: ruby examples/kafka_scaling.rb (in a checkout:
# bin/rake example[kafka_scaling])
require "guildhall/kafka"
require "guildhall/kafka/testing"

# Says which process has read how much.
class VisitsConsumer < Guildhall::Kafka::Consumer
  def consume
    $stdout.syswrite("#{Process.pid} #{messages.size}\n")
  end
end

# The parent that forks must have no clients: this process has the broker, and starts the swarm as another one.
if (servers = ARGV.first)
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": servers, "auto.offset.reset": "earliest",
                    "session.timeout.ms": 3_000, "heartbeat.interval.ms": 200} # the embedded broker admits no member for that time
  end
  Guildhall::Kafka.routes do
    multiplexing 2
    topic("visits") { consumer VisitsConsumer }
  end
  Guildhall::Kafka.instrumentation.subscribe("rebalance.partitions_assigned") do |event|
    $stdout.syswrite("share of #{event.payload[:partitions].size}\n")
  end
  exit(Guildhall::Kafka.swarm(processes: 2))
end

Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
  broker.create_topic("visits", partitions: 4)
  IO.popen([RbConfig.ruby, __FILE__, broker.bootstrap_servers]) do |swarm|
    shares = []
    shares << Integer(swarm.gets.split.last) until shares.last(4) == [1, 1, 1, 1] # rebalances, until each of four members has one partition
    producer = Rdkafka::Config.new("bootstrap.servers": broker.bootstrap_servers).producer
    Array.new(400) { |i| producer.produce(topic: "visits", partition: i % 4, payload: "visit #{i}") }.each(&:wait)
    producer.close
    read = Hash.new(0)
    while read.values.sum < 400
      process, count = swarm.gets.split
      read[process] += count.to_i # not of a share
    end
    read.delete("share")
    Process.kill(:TERM, swarm.pid)
    swarm.read
    puts "#{read.size} processes have read #{read.values.sum} visits"
  end
  puts "exit status #{$?.exitstatus}"
end
