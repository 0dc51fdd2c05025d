# frozen_string_literal: true

# An account of every message of a topic whose consumer keeps a table of PostgreSQL's or MariaDB's, on the brokers that it is given: upserts,
# deletions, rows that the database refuses, and payloads that are no JSON, of the same keys, while consumers are killed (-9) before and after
# their commit, and run into deadlocks and (PostgreSQL) serialization failures. At the end each key is as its last good message says, each bad message is a dead letter or was superseded within its
# batch, and no good message is a dead letter. Usage: account.rb SERVERS, with DATABASE in the environment.
require_relative "../../support/warnings_raise"
require "active_record"
require "guildhall/kafka"
require "json"
require "rbconfig"
require "securerandom"
require "tmpdir"

SERVERS = ARGV.fetch(0)
DATABASE = JSON.parse(ENV.fetch("DATABASE"), symbolize_names: true)
POSTGRESQL = DATABASE.fetch(:adapter) == "postgresql"
# Of sessions: of the members that are killed, and of those that go on.
VARIABLES = if POSTGRESQL then ["read committed", "serializable"].map { |level| {default_transaction_isolation: level} }
            else %w[READ-COMMITTED REPEATABLE-READ].map { |level| {tx_isolation: level} }
            end.freeze
KEYS = 150
STEPS = [%w[written 2], %w[committed 2], %w[written 5], %w[committed 5]].freeze
MEMBER = File.expand_path("member.rb", __dir__)
FOLDER = Dir.mktmpdir
LOG = File.join(FOLDER, "members.log")
LIMIT = 120
SEED = Integer(ENV.fetch("SEED", Random.new_seed % 100_000))
srand(SEED)

ActiveRecord::Base.establish_connection(**DATABASE, variables: POSTGRESQL ? {} : {tx_isolation: "READ-COMMITTED"})
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:orders) do |table|
    table.string(:number, null: false, index: {unique: true})
    table.string(:status)
    table.integer(:cents, null: false)
    table.timestamps
    table.check_constraint("cents >= 0", name: "cents_not_negative")
  end
  create_table(:ballast) { |table| table.string(:text) }
end
class Order < ActiveRecord::Base; end

Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": SERVERS} }
TOPIC = "upserts-#{SecureRandom.hex(4)}".freeze
admin = Rdkafka::Config.new("bootstrap.servers": SERVERS).admin
{TOPIC => 3, "#{TOPIC}.dead" => 1}.each { |name, partitions| admin.create_topic(name, partitions, 1).wait(max_wait_timeout_ms: 60_000) }
admin.close

def eventually(what, seconds = LIMIT)
  limit = Guildhall::Clock.now + seconds
  until (value = yield)
    abort("not within #{seconds} s: #{what.respond_to?(:call) ? what.call : what}\n#{log}") if Guildhall::Clock.now > limit
    sleep(0.02)
  end
  value
end

def log = File.exist?(LOG) ? File.read(LOG).lines.last(60).join : ""

# Writes messages, and knows what has to come of them.
class Plan
  Sent = Data.define(:key, :status, :kind)
  KINDS = [*([:good] * 220), *([:gone] * 50), :null, :negative, :broken].freeze

  # @return [Array<Sent>] in the order in which they were sent
  attr_reader :sent

  def initialize
    @sent = []
    @keys = Array.new(KEYS) { |number| "key #{number}" }
  end

  def send_some
    batch = Array.new(40) { message(@keys.sample, KINDS.sample) }
    Guildhall::Kafka.producer.produce_many_sync(batch)
  end

  # @return [Hash{String=>String}] the status of each key whose last good message is no deletion
  def table
    last = @sent.select { |message| %i[good gone].include?(message.kind) }.to_h { |message| [message.key, message] }
    last.each_value.select { |message| message.kind == :good }.to_h { |message| [message.key, message.status] }
  end

  # @return [Array<String>] what is wrong about these dead letters
  def faults(found)
    by_status = @sent.to_h { |message| [message.status, message] }
    last = @sent.to_h { |message| [message.key, message.status] }
    good = found.select { |status| %i[good gone].include?(by_status.fetch(status).kind) }
    missing = @sent.select { |message| message.kind == :broken || (refused?(message) && last[message.key] == message.status) }.map(&:status) - found
    [*("good messages are dead letters: #{good.first(5)}" if good.any?), *("no dead letters: #{missing.first(5)}" if missing.any?)]
  end

  private

  def refused?(message) = %i[null negative].include?(message.kind)

  def message(key, kind)
    status = "#{kind} #{@sent.size}"
    @sent << Sent.new(key:, status:, kind:)
    payload = {good: {status:, cents: 1}, null: {status:, cents: nil}, negative: {status:, cents: -1}}[kind]&.to_json
    payload = "{\"status\":" if kind == :broken
    {topic: TOPIC, key:, payload:, headers: {"status" => status}}
  end
end

def spawn_member(*step, variables: VARIABLES.first)
  Process.spawn({"VARIABLES" => JSON.generate(variables)}, RbConfig.ruby, "-W0", MEMBER, JSON.generate(DATABASE), SERVERS, TOPIC, *step, out: [LOG, "a"], err: %i[child out])
end

def ended?(pid) = Process.wait(pid, Process::WNOHANG)
def count(text) = File.read(LOG).scan(text).size

WAITING = if POSTGRESQL then "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid <> pg_backend_pid()"
          else "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
          end

# Locks a row, waits until a member waits for it, and then wants the rows that the member has written meanwhile. PostgreSQL ends the transaction
# that notices, MariaDB the one that has written less.
def provoke_deadlock
  Order.transaction do
    if POSTGRESQL then Order.connection.execute("SET LOCAL deadlock_timeout = '60s'")
    else Order.connection.execute("INSERT INTO ballast (text) SELECT seq FROM seq_1_to_3000")
    end
    held = Order.lock.find_by(id: Order.pluck(:id).sample) || raise(ActiveRecord::Rollback)
    limit = Guildhall::Clock.now + 5
    sleep(0.01) while Order.connection.select_value(WAITING).zero? && Guildhall::Clock.now < limit
    Order.where.not(id: held.id).lock.load
    raise ActiveRecord::Rollback
  end
rescue ActiveRecord::Deadlocked, ActiveRecord::LockWaitTimeout
  nil # the other side was chosen
end

plan = Plan.new
ended = false
writer = Thread.new do
  until ended
    plan.send_some
    sleep(0.05)
  end
end
running = []
begin
  STEPS.each_slice(2) do |steps|
    running = steps.map { |step| spawn_member(*step) }
    running.each { |pid| eventually("killed at #{steps}") { ended?(pid) && ($?.termsig == 9 || abort("#{$?}:\n#{log}")) } } # by itself
  end
  running = Array.new(2) { spawn_member(variables: VARIABLES.last) }
  eventually("a member runs into a deadlock") { provoke_deadlock || count("ActiveRecord::Deadlocked:").positive? }
  eventually("transactions cannot be serialized") { count("ActiveRecord::SerializationFailure:").positive? } if POSTGRESQL
  ended = true
  writer.join
  eventually(-> { "table: #{(Order.pluck(:number, :status) - plan.table.to_a).first(5)}, missing #{(plan.table.to_a - Order.pluck(:number, :status)).first(5)}" }) do
    Order.pluck(:number, :status).sort == plan.table.sort
  end
  dead = -> { Guildhall::Kafka.each_message("#{TOPIC}.dead").map { |letter| letter.headers.fetch("status") } }
  eventually(-> { plan.faults(dead.call).inspect }) { plan.faults(dead.call).empty? }
  abort("no row was refused") if count("ActiveRecord::NotNullViolation:").zero?
  running.each { |pid| Process.kill(:TERM, pid) }
  running.each { |pid| eventually("ended") { ended?(pid) && ($?.success? || abort("#{$?}:\n#{log}")) } }
  faults = [*plan.faults(dead.call), *("the table has changed" unless Order.pluck(:number, :status).sort == plan.table.sort)]
  abort("#{faults.join("\n")}\nSEED=#{SEED}") if faults.any?
  kinds = plan.sent.map(&:kind).tally
  puts "ok #{plan.sent.size} messages (#{kinds}), #{plan.table.size} rows, #{dead.call.uniq.size} dead letters, #{STEPS.size} members killed, " \
       "#{count("ActiveRecord::Deadlocked:")} deadlocks, #{count("ActiveRecord::SerializationFailure:")} serialization failures"
ensure
  ended = true
  running.each do |pid|
    Process.kill(:KILL, pid)
    Process.wait(pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end
  FileUtils.rm_rf(FOLDER)
end
