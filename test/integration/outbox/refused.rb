# frozen_string_literal: true

# What a real broker refuses: a row that is too large among small ones of the same key, in one request; a topic that is missing. They are parked, the
# others arrive in order; once the topic takes it, a retry sends it. Usage: refused.rb SERVERS
require_relative "../../support/outbox_program"
require "securerandom"

SERVERS = ARGV.fetch(0)
TOPIC = "outbox-small-#{SecureRandom.hex(4)}".freeze
MISSING = "outbox-missing-#{SecureRandom.hex(4)}".freeze

def admin
  client = Rdkafka::Config.new("bootstrap.servers": SERVERS).admin
  yield(client)
ensure
  client.close
end

# @return [Array<Integer>] the numbers that came, in order
def found = Guildhall::Kafka.each_message(TOPIC).to_a.sort_by(&:offset).map { |message| Integer(message.raw_payload[/\d+/]) }

admin { |client| client.create_topic(TOPIC, 1, 1, "max.message.bytes" => "20000").wait(max_wait_timeout_ms: 60_000) }
Guildhall::Kafka.configure do |config|
  config.kafka = {"bootstrap.servers": SERVERS}
  config.producer = {"topic.metadata.propagation.max.ms": 1_000, "allow.auto.create.topics": false, "compression.codec": "none"}
  config.outbox = true
  config.logger = nil
end
Outbox.produce(Array.new(90) { |number| {topic: TOPIC, key: "a", payload: "#{number} #{"x" * (number == 40 ? 30_000 : 1_000)}"} })
Outbox.produce(topic: MISSING, key: "a", payload: "x")
Guildhall::Kafka.start
eventually("sent or parked") { Message.waiting.none? }
others = (0...90).to_a - [40]
equal(others, found.uniq)
parked = Message.parked.order(:id).to_a
equal([40, true], [Integer(parked.first.payload[/\d+/]), parked.first.error.include?("raise max.message.bytes of topic #{TOPIC}")])
equal([MISSING], parked.drop(1).map(&:topic))

admin do |client|
  client.incremental_alter_configs([{resource_type: 2, resource_name: TOPIC, configs: [{name: "max.message.bytes", value: "100000", op_type: 0}]}])
    .wait(max_wait_timeout_ms: 60_000)
end
equal(1, Message.retry(parked.first.id))
eventually("sent") { found.include?(40) }
eventually("deleted") { Message.waiting.none? }
equal(true, Guildhall::Kafka.stop)
puts "ok #{found.size - 90} sent twice"
