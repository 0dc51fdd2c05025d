# frozen_string_literal: true

# stress: 10 kills
#
# Proves that the processes of a swarm share an outbox: each relays with leases of its own; where one is killed (-9) that holds leases, others take
# them over and another process takes its place; every row that was committed arrives, none that was rolled back, and no message of a key for the
# first time behind a later one; at the end no row and no lease is left. With other databases, and a kill at each step: outbox/account.rb.
require "tmpdir"
require_relative "../../support/generated_migrations"
require_relative "../support/scenario"
require_relative "../../support/writing_thread"

OUTBOX_SWARM = <<~'RUBY'
  require "active_record"
  require "guildhall/kafka"
  servers, database = ARGV
  ActiveRecord::Base.establish_connection(JSON.parse(database))
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": servers}
    config.outbox = true
    config.shutdown_timeout = 30
  end
  $stdout.sync = true
  Guildhall::Kafka.instrumentation.subscribe("swarm.process_started") { |event| puts "started #{event.payload[:pid]}" }
  Guildhall::Kafka.instrumentation.subscribe("outbox.sent") { $stdout.syswrite("sent #{Process.pid}\n") }
  exit(Guildhall::Kafka.swarm(processes: 3))
RUBY

# One key, whose transactions follow each other.
class OutboxWriter
  include WritingThread

  attr_reader :key, :committed

  def initialize(topic, number)
    @topic = topic
    @key = "key #{number}"
    @committed = []
    @number = -1
  end

  private

  def write
    numbers = Array.new(rand(1..3)) { @number += 1 }
    committed = false
    Guildhall::Outbox::Record.transaction do
      numbers.each { |number| Guildhall::Outbox.produce_in_transaction(topic: @topic, key: @key, payload: number.to_s) }
      raise ActiveRecord::Rollback if rand(10).zero?

      committed = true
    end
    @committed.concat(numbers) if committed
    sleep(0.02)
  end
end

Scenario.run do
  folder = Dir.mktmpdir
  database = {adapter: "sqlite3", database: File.join(folder, "outbox.sqlite3"), timeout: 60_000, pool: 20, default_transaction_mode: "immediate"}
  ActiveRecord::Base.establish_connection(database)
  GeneratedMigrations.run("outbox")
  message = Guildhall::Outbox::Message
  shard = Guildhall::Outbox::Shard
  kills = long? ? 10 : 2
  name = topic(partitions: 4)
  configure

  started = []
  relayed = Hash.new(0)
  lock = Mutex.new
  arguments = [servers, JSON.generate(database)]
  swarm = IO.popen([RbConfig.ruby, "-W0", "-e", OUTBOX_SWARM, *arguments], chdir: File.expand_path("../../..", __dir__))
  reader = Thread.new do
    swarm.each_line do |line|
      what, pid = line.split
      lock.synchronize { what == "sent" ? relayed[pid.to_i] += 1 : started << pid.to_i }
    end
  end
  running = -> { lock.synchronize { started.dup }.select { |pid| File.read("/proc/#{pid}/stat")[/\) (\S)/, 1] != "Z" rescue false } } # rubocop:disable Style/RescueModifier
  holders = -> { shard.where.not(lease: nil).pluck(:lease).map { |lease| lease[%r{:(\d+):\w+/\d+\z}, 1].to_i } }
  eventually("three processes") { running.call.size == 3 }
  writers = Array.new(12) { |number| OutboxWriter.new(name, number).start }
  eventually("each of them relays") { (running.call - lock.synchronize { relayed.keys }).empty? }

  left = tried = 0
  until left == kills
    victim = nil
    eventually("one holds leases") { victim = (holders.call & running.call).first }
    Process.kill(:KILL, victim)
    tried += 1
    eventually("another one takes its place") { running.call.size == 3 && !running.call.include?(victim) }
    next unless holders.call.include?(victim) # it had given them back meanwhile

    left += 1
    eventually("its leases are taken over") { !holders.call.include?(victim) }
  end
  writers.each(&:finish)
  eventually("all are sent") { message.none? }
  Process.kill(:TERM, swarm.pid)
  Process.wait(swarm.pid)
  equal(0, $?.exitstatus, "exit status")
  eventually("no process is left") { running.call.empty? }
  equal([], holders.call, "leases")

  found = Guildhall::Kafka.each_message(name).group_by(&:raw_key).transform_values { |some| some.sort_by(&:offset).map { |one| Integer(one.raw_payload) } }
  writers.each do |writer|
    came = found.fetch(writer.key, [])
    equal(writer.committed, came.uniq, "#{writer.key}: in order, each that was committed, no other")
  end
  committed = writers.sum { |writer| writer.committed.size }
  again = found.each_value.sum(&:size) - committed
  check(committed > 100, "only #{committed} rows")
  notes << "#{committed} rows, #{again} of them sent again, #{tried} processes killed, #{left} of them with leases, #{lock.synchronize { relayed.size }} have relayed"
ensure
  begin
    Process.kill(:KILL, swarm.pid) if swarm
  rescue Errno::ESRCH
    nil
  end
  reader&.join(10)
  FileUtils.rm_rf(folder) if folder
end
