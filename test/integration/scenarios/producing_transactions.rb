# frozen_string_literal: true

# broker: real
# stress: 5 kills of the broker
#
# Proves that of each transaction outside of a consumer all messages are there, once and in order, or none, while the broker is killed (-9),
# comes back, and is frozen, blocks raise, and the process is killed amid one: what `transaction` has returned from is there, what it has
# raised for is not, unless it says that nobody knows. On a broker of its own.
require_relative "../support/scenario"

KILLED = <<~'RUBY'
  require "guildhall/kafka"
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ARGV[0]}
    config.producer = {"transactional.id": "accounts", "transaction.timeout.ms": 15_000}
    config.logger = nil
  end
  Guildhall::Kafka.producer.transaction do |producer|
    5.times { |number| producer.produce_sync(topic: ARGV[1], partition: 0, payload: "killed #{number}") }
    puts "open"
    $stdout.flush
    sleep
  end
RUBY

Scenario.run do
  broker = own_broker or next

  name = topic(partitions: 2)
  output, writer = IO.pipe
  pid = spawn(RbConfig.ruby, "-e", KILLED, servers, name, out: writer)
  writer.close
  equal("open\n", output.gets, "what the process says")
  Process.kill(:KILL, pid)
  Process.wait(pid)

  configure(producer: {"transactional.id": "accounts", "transaction.timeout.ms": 15_000, "socket.timeout.ms": 5_000})
  producer = Guildhall::Kafka.producer
  began = now
  producer.transaction { |one| one.produce_async(topic: name, partition: 0, payload: "first 0") }
  check(now - began < 10, "the transaction of the process that was killed was waited for")

  ended = false
  outcomes = {committed: [], aborted: [], unknown: []}
  threads = Array.new(2) do |partition|
    Thread.new do
      (0..).each do |round|
        break if ended

        id = "#{partition}-#{round}"
        producer.transaction do |one|
          5.times { |number| producer.produce_async(topic: name, partition:, payload: "#{id} #{number}") }
          one.produce_many_async([{topic: name, partition:, payload: "#{id} 5"}])
          raise KeyError, "on purpose" if rand(6).zero?
        end
        outcomes[:committed] << id
      rescue KeyError
        outcomes[:aborted] << id
      rescue Guildhall::Kafka::TransactionError, Guildhall::Kafka::ProduceError, Guildhall::TimeoutError => error
        outcomes[error.message.start_with?("no broker has said") ? :unknown : :aborted] << id
        notes << error.message[0, 80] if notes.size < 5
        sleep(0.1)
      end
    end
  end
  goal = ->(count) { eventually("#{count} transactions", 120) { outcomes[:committed].size > count } }
  goal.call(20)
  (long? ? 5 : 1).times do
    kill_broker(name) { sleep(rand * 3) }
    goal.call(outcomes[:committed].size + 20)
    begin
      Process.kill(:STOP, broker.pid)
      sleep(long? ? 20 : 6)
    ensure
      Process.kill(:CONT, broker.pid)
    end
    goal.call(outcomes[:committed].size + 20)
  end
  ended = true
  threads.each { |thread| check(thread.join(60), "a transaction does not end") && thread.value }
  Guildhall::Kafka.stop(timeout: 20)

  configure
  there = Hash.new { |hash, id| hash[id] = [] }
  Guildhall::Kafka.each_message(name) { |message| message.raw_payload.split.then { |id, number| there[id] << number } }
  all = (0..5).map(&:to_s)
  equal([["0"], []], there.values_at("first", "killed"), "what is there of the first ones")
  outcomes[:committed].each { |id| equal(all, there[id], "what is there of #{id}, which was committed") }
  outcomes[:aborted].each { |id| equal([], there[id], "what is there of #{id}, which was aborted") }
  outcomes[:unknown].each { |id| check([[], all].include?(there[id]), "a part of #{id} is there") }
  notes << outcomes.map { |kind, ids| "#{ids.size} #{kind}" }.join(", ")
end
