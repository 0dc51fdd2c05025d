# frozen_string_literal: true

# stress: 30 members
#
# Proves that with `ordering :key` rebalances lose and reorder nothing while keys wait: members come and go, each gives up parked keys
# with its partitions, and the next owner continues with the messages that were not done.
require "fileutils"
require_relative "../support/scenario"

WORKER = <<~'RUBY'
  require "guildhall/kafka"
  require ARGV[4]
  ACCOUNT = Account.open(ARGV[5])
  class Telling < Guildhall::Kafka::Consumer
    def consume
      messages.each_marking do |message|
        number = Integer(message.raw_payload)
        raise "stuck" if number == 9 && message.key.end_with?("1") && !File.exist?(ARGV[6])
        raise "at first" if number % 13 == 5 && attempt < 3

        sleep(0.001)
        ACCOUNT.handled(message.key, number, Thread.current)
      end
    end
  end
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ARGV[0], "auto.offset.reset": "earliest", "session.timeout.ms": Integer(ARGV[3]),
                    "heartbeat.interval.ms": 300}
    config.group_id = ARGV[2]
    config.commit_interval = 0.1
    config.max_messages = 50
    config.concurrency = 4
    config.pause_timeout = 0.02
    config.pause_max_timeout = 0.1
  end
  Guildhall::Kafka.routes do
    topic(ARGV[1]) do
      consumer Telling
      ordering :key
    end
  end
  exit(Guildhall::Kafka.run)
RUBY

Scenario.run do
  keys = 40
  each = long? ? 300 : 150 # more of a key that waits than that would make its partition rest
  partitions = 4
  name = topic(partitions:)
  produce(name, (0...(keys * each)).map { |i| {payload: (i / keys).to_s, key: "k#{i % keys}", partition: i % partitions} })
  keys.times { |key| account.produced("k#{key}", each) }
  released = "#{account.path}.released"
  support = File.expand_path("../support/account", __dir__)
  arguments = [servers, name, group, embedded ? "2000" : "6000", support, account.path, released]
  quiet = {out: File::NULL, err: File::NULL}
  begin
    members = Array.new(2) { Process.spawn(RbConfig.ruby, "-e", WORKER, *arguments, **quiet) }
    came = 2
    (long? ? 28 : 3).times do
      before = account.settled
      eventually("progress") { account.settled > before + 50 || account.settled > (keys * each) - (5 * each) }
      members << Process.spawn(RbConfig.ruby, "-e", WORKER, *arguments, **quiet)
      came += 1
      sleep(rand(0.5..2.0))
      leaving = members.shift
      Process.kill(%i[TERM KILL].sample, leaving)
      Process.wait(leaving)
    end
    File.write(released, "")
    eventually_complete("all consumed", 150)
    done = [(keys * each) / partitions] * partitions
    eventually("what a killed member had not committed is done again") { committed(name, partitions:) == done }
  ensure
    members.each { |pid| Process.kill(:TERM, pid) }
    members.each { |pid| Process.wait(pid) }
    FileUtils.rm_f(released)
  end
  notes << "#{came} members"
end
