# frozen_string_literal: true

# stress: 12 kills
#
# Proves that with `ordering :key` a consumer that is killed (-9) while keys wait loses nothing: the next member begins with
# the messages that were not done, in order within each key. It repeats only what was handled since the last commit.
require_relative "../support/scenario"

WORKER = <<~'RUBY'
  require "guildhall/kafka"
  require ARGV[4]
  $stdout.sync = true
  ACCOUNT = Account.open(ARGV[5])
  RELEASED = ARGV[6] == "released"
  class Telling < Guildhall::Kafka::Consumer
    def consume
      messages.each_marking do |message|
        number = Integer(message.raw_payload)
        raise "stuck" if !RELEASED && %w[k1 k4].include?(message.key) && number == 7
        raise "at first" if number % 13 == 5 && attempt < 3

        sleep(0.001)
        ACCOUNT.handled(message.key, number, Thread.current)
        $stdout.syswrite("#{message.offset}\n")
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
  each = long? ? 200 : 60
  name = topic
  produce(name, (0...(keys * each)).map { |i| {payload: (i / keys).to_s, key: "k#{i % keys}", partition: 0} })
  keys.times { |key| account.produced("k#{key}", each) }
  kills = 0
  worker = lambda do |released = "stuck", &stop|
    support = File.expand_path("../support/account", __dir__)
    arguments = [servers, name, group, embedded ? "1000" : "6000", support, account.path, released]
    IO.popen([RbConfig.ruby, "-e", WORKER, *arguments]) do |output|
      handled = 0
      stop.call(output.pid, handled += 1) while output.gets
    end
  end
  all_but_stuck = (keys * each) - (2 * (each - 7))
  (long? ? 12 : 3).times do
    goal = rand(100..500)
    worker.call do |pid, handled|
      Process.kill(:KILL, pid) if handled == goal || account.settled == all_but_stuck
    end
    kills += 1
  end
  before = account.consumed
  settled = account.settled
  worker.call("released") do |pid, _|
    next unless account.complete?

    # It may have to do again what the one before had not committed.
    eventually("all committed") { committed(name) == [keys * each] }
    Process.kill(:TERM, pid)
  end
  check(before - settled <= kills * 500, "#{before - settled} handled twice")
  notes << "#{kills} kills" << "#{account.consumed - (keys * each)} handled twice"
end
