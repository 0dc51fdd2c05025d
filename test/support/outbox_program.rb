# frozen_string_literal: true

# An outbox in a process of its own: Active Record brings Active Support's JSON with it. In a database of SQLite's, or in the one that DATABASE
# names (JSON of Active Record's settings). The tables are those of the generator's migration.
require_relative "warnings_raise"
require_relative "generated_migrations"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "json"
require "tmpdir"

FOLDER = Dir.mktmpdir
at_exit { FileUtils.rm_rf(FOLDER) }

def equal(expected, actual)
  expected == actual || abort("line #{caller_locations(1, 1).first.lineno}: expected #{expected.inspect}, got #{actual.inspect}")
end

def eventually(what, seconds = 60)
  limit = Guildhall::Clock.now - Travel.seconds + seconds
  until (value = yield)
    abort("line #{caller_locations(1, 1).first.lineno}: not within #{seconds} s: #{what}") if Guildhall::Clock.now - Travel.seconds > limit
    sleep(0.01)
  end
  value
end

def raised(*classes)
  yield
  abort("line #{caller_locations(1, 1).first.lineno}: nothing was raised")
rescue *classes => error
  error
end

# Takes messages as a producer does, and refuses what the test says: called with the messages of one "request", returns by message what it
# is refused for.
class FakeProducer
  Delivery = Struct.new(:error) do
    def await(*) = error ? raise(error) : :arrived
  end

  attr_reader :sent

  def initialize(&refuse)
    @refuse = refuse || ->(_message) {}
    @sent = []
  end

  def prepared(message) = message.tap { Guildhall::Kafka::Producing::Sender.check!(message) }

  def start_all(messages, _seconds)
    messages.map do |message|
      error = @refuse.call(message)
      @sent << message unless error
      Delivery.new(error)
    end
  end

  def purge = nil
  def close(_deadline) = true
end

# Takes messages that no broker has, until they are dropped. `waits` has until when each was waited for.
class StuckProducer < FakeProducer
  Delivery = Struct.new(:producer, :topic) do
    def await(limit, give_up)
      producer.waits << limit
      until producer.dropped
        raise Guildhall::TimeoutError, "no broker" if Guildhall::Clock.now >= limit || give_up.call

        sleep(0.01)
      end
      raise refused(:purged)
    end
  end

  attr_reader :waits, :dropped

  def initialize
    super
    @waits = []
  end

  def start_all(messages, _seconds)
    @sent.concat(messages)
    @waits = []
    @dropped = false
    messages.map { |message| Delivery.new(self, message[:topic]) }
  end

  def purge = @dropped = true
end

# Blocks until a relay waits for what no broker takes.
def handed_over(producer) = eventually("handed over") { producer.waits.any? }

# Lets seconds pass on the clock of the process.
module Travel
  class << self
    attr_accessor :seconds
  end
  self.seconds = 0

  def now = super + Travel.seconds
end
Guildhall::Clock.singleton_class.prepend(Travel)

def refused(name, topic = "orders")
  codes = {msg_size_too_large: 10, unknown_topic_or_part: 3, gapless: -148, timed_out: -185, purged: -152}
  Guildhall::Kafka::ProduceError.of(codes.fetch(name), topic)
end

PRODUCERS = Thread::Queue.new
STAND_IN = Module.new { def patient_producer = PRODUCERS.empty? ? super : PRODUCERS.pop }
Guildhall::Kafka::Application.prepend(STAND_IN)

# @return [Guildhall::Kafka::Outbox::Relay] that sends with this producer
def relay(producer, leases: Guildhall::Kafka::Outbox::Shard::Leases.new("relay"))
  PRODUCERS << producer
  Guildhall::Kafka::Outbox::Relay.new(Guildhall::Kafka.application, leases:)
end

# Starts it, waits, and stops it.
def relaying(producer, **)
  one = relay(producer, **).start
  yield(one)
ensure
  one.stop(Guildhall::Clock.now + 20)
  one.close(Guildhall::Clock.now + 20)
end

# Starts it, and stops it while it waits for what no broker takes.
# @param producer [StuckProducer]
def stopped_while_it_waits(producer, **)
  one = relay(producer, **).start
  handed_over(producer)
  one.stop(Guildhall::Clock.now)
  equal(true, one.close(Guildhall::Clock.now + 60))
end

SQLITE = {adapter: "sqlite3", database: File.join(FOLDER, "test.sqlite3"), timeout: 20_000, pool: 30}.freeze
ActiveRecord::Base.establish_connection(ENV.key?("DATABASE") ? JSON.parse(ENV.fetch("DATABASE"), symbolize_names: true) : SQLITE)
GeneratedMigrations.run("outbox")
Outbox = Guildhall::Outbox
Message = Outbox::Message
Outbox::Shard.prepare
Guildhall::Kafka.configure do |config|
  config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
  config.outbox = true
end
EVENTS = Thread::Queue.new
Guildhall::Kafka.instrumentation.subscribe("outbox.parked", "outbox.sent", "outbox.measured", "error.occurred") { |event| EVENTS << [event.name, event.payload] }
def events(name) = Array.new(EVENTS.size) { EVENTS.pop }.filter_map { |one, payload| payload if one == name }
