# frozen_string_literal: true

# Proves that a codec's `prepare` is called once for a batch, by a runner: while it blocks, for longer than the broker waits
# for a heartbeat, other topics of the same client are read and consumed and no member leaves the group; what it raises costs
# no membership either, and the payloads are decoded when they are asked for.
require_relative "../support/scenario"

# Prepares only when it is let to, and then raises, once.
class Patient
  include Guildhall::Codec

  CALLS = Thread::Queue.new
  GATE = Thread::Queue.new
  RAISES = Thread::Queue.new << true

  def initialize = freeze
  def decode(bytes) = bytes.upcase.freeze

  def prepare(payloads)
    CALLS << payloads
    GATE.pop
    raise "the registry answered 503" unless RAISES.empty? || !RAISES.pop
  end
end

Scenario.run do
  slow, quick = Array.new(2) { topic }
  seen = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    def consume
      messages.each { |message| self.class::SEEN << [message.topic, message.payload] }
    end
  end
  configure
  revoked = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("rebalance.partitions_revoked") { |event| revoked << event.payload }
  routes do
    topic(slow) do
      consumer consumer
      deserializer Patient.new
      deserializing parallel: true
    end
    topic(quick) { consumer consumer }
  end
  produce(slow, [{payload: "a", partition: 0}])
  start
  eventually("prepare is called") { Patient::CALLS.size == 1 }
  began = awake
  count = 0
  while awake - began < (embedded ? 4 : 2) # longer than the session of the embedded broker
    produce(quick, [{payload: "b", partition: 0}])
    eventually("the other topic's message") { seen.size > count }
    count += 1
  end
  equal([quick], drain(seen).map(&:first).uniq, "consumed while prepare blocks")
  Patient::GATE << true
  eventually("what could not be prepared") { seen.size == 1 }
  equal([[slow, "A"]], drain(seen), "consumed")
  equal([1, 0, ["prepare"]], [Patient::CALLS.size, revoked.size, drain(errors).map { |error| error[:type] }], "calls of prepare, rebalances, errors")
  stop
  equal([[1], [count]], [committed(slow), committed(quick)], "committed")
end
