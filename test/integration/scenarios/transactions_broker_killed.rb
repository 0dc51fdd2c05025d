# frozen_string_literal: true

# broker: real
# everyday: no
# alone: it kills the broker
# stress: 5 kills of the broker
#
# Proves that transactions happen exactly once when the broker is killed (-9) and comes back, at random points: where a commit was not answered,
# what has become of it is found out, so that nothing is produced twice, and nothing lost. KAFKA_BROKER_CONTROL names a
# command that takes `kill PORT` and `resume PORT`; without it there is nothing to prove.
require_relative "../support/scenario"

Scenario.run do
  control = ENV.fetch("KAFKA_BROKER_CONTROL", "")
  next notes << "skipped: no KAFKA_BROKER_CONTROL" if control.empty?

  kills = long? ? 5 : 1
  count = 600 * (kills + 1)
  source = topic(partitions: 2)
  target = topic(partitions: 2, name: "target")
  produce(source, (0...count).map { |i| {payload: i.to_s, partition: i % 2} })
  lock = Mutex.new
  done = 0
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      messages.each_slice(5) do |slice|
        transaction do
          slice.each { |message| produce_async(topic: target, partition:, payload: message.offset.to_s) }
          mark_as_consumed(slice.last)
        end
        lock.synchronize { done += slice.size }
      end
    end
  end
  configure(max_messages: 50, commit_interval: 0.5, producer: {"transaction.timeout.ms": 20_000})
  routes do
    topic(source) do
      consumer consumer
      transactional
    end
  end
  start
  kills.times do |kill|
    goal = (600 * kill) + rand(100..400)
    eventually("#{goal} are committed", 90) { lock.synchronize { done } >= goal }
    kill_broker(control, source) { sleep(rand * 3) }
  end
  eventually("committed", 120) do
    sleep(0.3)
    committed(source, partitions: 2) == [count / 2] * 2
  end
  eventually("stopped") { Guildhall::Kafka.stop(timeout: 20) }
  read = Array.new(2) { [] }
  Guildhall::Kafka.each_message(target) { |message| read[message.partition] << message.raw_payload }
  read.each { |results| equal((0...(count / 2)).map(&:to_s), results, "results, in order") }
  notes << "#{kills} kills" << "#{count} results, each once" << drain(errors).map { |one| one[:error].class.name }.tally.inspect
end
