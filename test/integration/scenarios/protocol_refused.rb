# frozen_string_literal: true

# broker: real (one of its own: with the classic protocol only)
#
# Proves that where the brokers do not offer the consumer protocol, a group with `group_protocol :auto` is consumed with the classic one, by
# all of its members, and says so once; and that `:consumer` ends with an error that says what to do, by the server's command with status 1.
require_relative "../support/scenario"

APPLICATION = <<~'RUBY'
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ENV.fetch("SERVERS"), "auto.offset.reset": "earliest"}
    config.group_protocol = :consumer
  end
  consumer = Class.new(Guildhall::Kafka::Consumer) { def consume = nil }
  Guildhall::Kafka.routes { topic(ENV.fetch("TOPIC")) { consumer(consumer) } }
RUBY

Scenario.run do
  own_broker("group.coordinator.rebalance.protocols" => "classic") or next
  partitions = 4
  name = topic(partitions:)
  produce_to(name, partitions, 50)
  consumer = accounting
  configure
  refused = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("protocol.refused") { |event| refused << event.payload }
  routes do
    multiplexing 2
    topic(name) { consumer(consumer) }
  end
  start
  eventually_complete
  eventually("both members have partitions") do
    Guildhall::Kafka.application.listeners.map { |listener| listener.partitions.size } == [2, 2]
  end
  equal([{group:, reason: "UNSUPPORTED_VERSION"}], drain(refused), "said")
  equal([], drain(errors), "errors")
  stop

  Tempfile.create(["app", ".rb"]) do |file|
    file.write(APPLICATION)
    file.flush
    out, err, status = guildhall("server", "-r", file.path, env: {"SERVERS" => servers, "TOPIC" => name})
    equal(1, status.exitstatus, "exit status: #{out} #{err}")
    check(out.include?("UNSUPPORTED_VERSION") && out.include?("group.coordinator.rebalance.protocols"), "the error says what to do: #{out}")
  end
end
