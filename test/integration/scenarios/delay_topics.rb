# frozen_string_literal: true

# stress: a thousand messages of up to a minute, more kills
#
# Proves that messages of `produce_later` arrive, each no sooner than its time and (while no process is killed) within a second of it and
# the time that polling takes, by way of several delay topics; that what is due is encoded as its topic's route says and keeps
# its key and headers; and that processes that are killed (-9) while messages wait lose none.
require_relative "../support/scenario"

FORWARDER = <<~'RUBY'
  require "guildhall/kafka"
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ARGV[0], "auto.offset.reset": "earliest", "session.timeout.ms": Integer(ARGV[3]), "heartbeat.interval.ms": 300}
    config.group_id = ARGV[1]
    config.commit_interval = 0.2
  end
  Guildhall::Kafka.routes { delay_topics 0.5, 2, 6, prefix: ARGV[2] }
  exit(Guildhall::Kafka.run)
RUBY

Scenario.run do
  name = topic
  prefix = "later-#{@id}"
  [0.5, 2, 6].each { |delay| embedded.create_topic("#{prefix}.#{delay}") } if embedded
  embedded&.create_topic("#{prefix}.dead")
  count = long? ? 1_000 : 150
  longest = long? ? 60.0 : 9.0
  seen = Hash.new { |hash, number| hash[number] = [] }
  lock = Mutex.new
  journal = account
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      messages.each do |message|
        number = message.payload["i"]
        lock.synchronize { seen[number] << [Time.now.to_f - message.payload["due"], message.key, message.headers] }
        journal.dead_lettered(0, number) # they have no order
      end
    end
  end
  configure
  later = "#{group}-later"
  routes do
    consumer_group(later) { delay_topics 0.5, 2, 6, prefix: prefix }
    topic(name) do
      consumer consumer
      deserializer Guildhall::JSON
    end
  end
  producing = lambda do |numbers|
    now = Time.now.to_f
    numbers.each do |i|
      due = now + (longest * (i + 1) / count)
      Guildhall::Kafka.producer.produce_later(at: i.even? ? due : Time.at(due), topic: name, key: "k#{i}", payload: {"i" => i, "due" => due}, headers: {"h" => i.to_s})
    end
    account.produced(0, numbers.size)
  end
  # One that sends on, in this process; none is killed.
  start
  # The first assignment takes a real broker three seconds.
  eventually("the delay topics are assigned") { Guildhall::Kafka.application.partitions.any? { |one| one.name == "#{prefix}.0.5" } }
  half = count / 2
  producing.call(0...half)
  eventually_complete("those that are due", longest + 60)
  late = lock.synchronize { seen.values.map { |list| list.first.first } }
  check(late.min >= -0.002, "one came #{-late.min} s too early")
  # A machine that is busy with other things delays whatever waits.
  notes << "at most #{late.max.round(2)} s late"
  check(late.sort[late.size / 2] < 3, "half of them came more than #{late.sort[late.size / 2].round(2)} s late")
  Guildhall::Kafka.producer.produce_later(at: Time.now - 5, topic: name, key: "k#{half}", payload: {"i" => half, "due" => Time.now.to_f}, headers: {"h" => half.to_s})
  account.produced(0, 1)
  eventually_complete("what is past is sent at once")
  twice = lock.synchronize { seen.values.sum(&:size) } - half - 1
  check(twice.zero?, "#{twice} came twice although no process was killed")
  stop

  # Now in processes that are killed.
  Guildhall::Kafka.reset
  configure
  routes do
    consumer_group("nobody") { delay_topics 0.5, 2, 6, prefix: prefix } # not started: for the producer
    topic(name) do
      consumer consumer
      deserializer Guildhall::JSON
    end
  end
  Guildhall::Kafka.start(groups: [group])
  producing.call((half + 1)...count)
  kills = 0
  until account.complete?
    forwarder = Process.spawn(RbConfig.ruby, "-e", FORWARDER, servers, later, prefix, embedded ? "1000" : "6000")
    limit = now + (kills < (long? ? 20 : 2) ? 4 : 90)
    sleep(0.05) until account.complete? || now > limit
    Process.kill(:KILL, forwarder)
    Process.wait(forwarder)
    kills += 1
    check(kills < 40, "not complete after #{kills} kills: #{account} #{account.errors}")
  end
  stop
  seen.each { |number, list| list.each { |_, key, headers| equal(["k#{number}", {"h" => number.to_s}], [key, headers], "key and headers") } }
  check(seen.values.flatten(1).map(&:first).min >= -0.002, "one came too early")
  notes << "#{kills} kills"
end
