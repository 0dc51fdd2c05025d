# frozen_string_literal: true

# broker: real (the embedded one forgets offsets that are sent to a transaction)
#
# Proves that lag and offsets of a group can be looked at while the transaction of a member that was killed (-9) is still open at the brokers,
# which is for ten minutes here: what is shown is what was committed before it. That no plan to change offsets is made meanwhile, and that the
# partition's next owner ends the transaction.
require_relative "../support/scenario"

Scenario.run do
  name = topic
  copies = copying(topic(name: "target"))
  draw = lambda do
    Guildhall::Kafka.reset
    configure(producer: {"transaction.timeout.ms": 600_000}, logger: nil)
    routes do
      topic(name) do
        consumer copies
        transactional
      end
    end
  end
  send_two = -> { produce(name, Array.new(2) { |number| {payload: number.to_s, partition: 0} }) }
  send_two.call
  draw.call
  start
  eventually("the first two") { committed(name) == [2] }
  stop
  send_two.call

  pid = fork do
    Guildhall::Kafka::Producing::TransactionalProducer.prepend(Module.new { def commit_transaction = Process.kill(:KILL, Process.pid) && sleep })
    draw.call
    start
    sleep
  end
  Process.wait(pid)
  draw.call
  row = Guildhall::Kafka.application.lag.first
  equal([2, 2], [row&.committed, row&.messages], "lag while the transaction of a killed member is open")
  admin = Guildhall::Kafka::Admin.new("bootstrap.servers": servers)
  equal([2], admin.offsets.of(group, topics: [name]).map(&:committed), "its offsets")
  begin
    admin.offsets.plan(group, to: :earliest, topics: [name])
    check(false, "offsets could be changed below an open transaction")
  rescue Guildhall::Kafka::KafkaError => error
    check(error.message.include?("coordinator"), "refused for another reason: #{error.message}")
  end
  start
  eventually("the next owner has done them") { committed(name) == [4] }
  stop
  equal([0], admin.offsets.plan(group, to: :earliest, topics: [name]).steps.map(&:to), "a plan afterwards")
ensure
  admin&.close
end
