# frozen_string_literal: true

# Proves that a group that has committed nothing, and reads new messages only, loses none that have failed until it was stopped: the
# next member begins with them, not at the end.
require_relative "../support/scenario"

# Fails until it works again.
class Outage < Guildhall::Kafka::Consumer
  FAILED = Thread::Queue.new
  HANDLED = Thread::Queue.new

  def consume
    messages.each_marking do |message|
      unless self.class.over?
        FAILED << message.offset
        raise "database is down"
      end
      HANDLED << message.offset
    end
  end

  def self.over? = @over
  def self.over = @over = true
end

Scenario.run do
  name = topic
  settings = {librdkafka: {"auto.offset.reset": "latest"}, pause_timeout: 0.1}
  restart(**settings) { topic(name) { consumer Outage } }
  # One comes after the end was looked up: what was produced before that is not for this group.
  eventually("something has failed") do
    produce(name, [{payload: "x", partition: 0}])
    sleep(0.1)
    Outage::FAILED.size.positive?
  end
  stop
  first = Outage::FAILED.pop
  equal([first], committed(name), "committed, although nothing is done")
  produce(name, [{payload: "last", partition: 0}])
  Outage.over
  restart(**settings) { topic(name) { consumer Outage } }
  equal(first, Outage::HANDLED.pop(timeout: 60), "the first offset that was handled after the outage")
  stop
end
