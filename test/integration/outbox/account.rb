# frozen_string_literal: true

# An account of every row of an outbox, on the database and the brokers that it is given: writers with transactions that are committed, rolled
# back, or held open while others go on; relays that are killed (-9) at every step, two at a time; what is in Kafka at the end is what was
# committed, in order by key, some of it twice. Usage: account.rb SERVERS, with DATABASE in the environment.
require_relative "../../support/outbox_program"
require_relative "../../support/writing_thread"
require "rbconfig"
require "securerandom"

SERVERS = ARGV.fetch(0)
STEPS = ["taken", "read", "handed over", "arrived", "deleted", "released", "renewed"].shuffle.freeze
KEYS = 12
LONG = Outbox::Record.connection_db_config.adapter != "sqlite3" # whose transactions exclude each other
TOPIC = "outbox-#{SecureRandom.hex(4)}".freeze
RELAY = File.expand_path("relay.rb", __dir__)
LOG = File.join(FOLDER, "relays.log")

Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": SERVERS} }
admin = Rdkafka::Config.new("bootstrap.servers": SERVERS).admin
admin.create_topic(TOPIC, 4, 1).wait(max_wait_timeout_ms: 60_000)
admin.close

# Each key has one writer, whose transactions follow each other: numbers are written in order.
class Writer
  include WritingThread

  attr_reader :key, :committed

  def initialize(number)
    @key = "key #{number}"
    @committed = []
    @number = -1
  end

  private

  def write
    numbers = []
    Outbox::Record.transaction do
      rand(1..4).times do
        Outbox.produce_in_transaction(topic: TOPIC, key: @key, payload: (@number += 1).to_s)
        numbers << @number
      end
      sleep(rand(20).zero? && LONG ? 0.5 : 0) # others with higher ids are committed first
      raise ActiveRecord::Rollback if rand(10).zero?

      numbers << :committed
    end
    @committed.concat(numbers.grep(Integer)) if numbers.last == :committed
    sleep(0.05)
  end
end

def spawn_relay(*step) = Process.spawn(RbConfig.ruby, "-W0", RELAY, ENV.fetch("DATABASE"), SERVERS, *step, out: [LOG, "a"], err: %i[child out])

def log = File.read(LOG).lines.last(40).join

def ended?(pid) = Process.wait(pid, Process::WNOHANG)

begin
  writers = Array.new(KEYS) { |number| Writer.new(number).start }
  running = []
  STEPS.each_slice(2) do |steps|
    running = steps.map { |step| spawn_relay(step, rand(1..3).to_s) }
    running.each { |pid| eventually("killed at #{steps}", 120) { ended?(pid) && ($?.termsig == 9 || abort("#{$?}:\n#{log}")) } } # by itself
  end
  # Two that go on, while writers do.
  running = [spawn_relay, spawn_relay]
  sleep(2)
  writers.each(&:finish)
  eventually("all sent: #{-> { Message.status }.call}", 120) { Message.none? }
  running.each { |pid| Process.kill(:TERM, pid) }
  running.each { |pid| eventually("ended", 60) { ended?(pid) } }
  equal(0, Outbox::Shard.where.not(lease: nil).where("lease LIKE ?", "%:#{running.first}:%").count)

  found = Guildhall::Kafka.each_message(TOPIC).group_by(&:raw_key).transform_values { |some| some.sort_by(&:offset).map { |message| Integer(message.raw_payload) } }
  errors = writers.flat_map do |writer|
    came = found.fetch(writer.key, [])
    first = came.uniq
    [*("#{writer.key}: #{(writer.committed - first).size} lost" unless (writer.committed - first).empty?),
     *("#{writer.key}: #{(first - writer.committed).first(5)} were rolled back" unless (first - writer.committed).empty?),
     *("#{writer.key}: out of order: #{first.each_cons(2).select { |one, other| one > other }.first(3)}" unless first == first.sort)]
  end
  abort(errors.join("\n")) if errors.any?
  committed = writers.sum { |writer| writer.committed.size }
  all = found.each_value.sum(&:size)
  puts "ok #{committed} committed, #{all} sent, #{all - committed} of them again, #{STEPS.size} relays killed"
ensure
  running&.each do |pid|
    Process.kill(:KILL, pid)
    Process.wait(pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end
end
