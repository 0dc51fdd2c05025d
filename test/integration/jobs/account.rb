# frozen_string_literal: true

# An account of batches and unique jobs, on the database and the broker that it is given: writers whose transactions are committed or rolled
# back, processes that relay and perform and are killed (-9) at every step of a job's end. At the end each batch has been reported, by one job,
# after all of its own; each unique job that was taken was performed, and no key is held. Usage: account.rb SERVERS, with DATABASE in the
# environment.
require "securerandom"
require "tmpdir"
ENV["QUEUE"] = "jobs-#{SecureRandom.hex(4)}"
require_relative "../../support/outbox_program"
require_relative "../../support/writing_thread"
ENV["LINES"] = File.join(FOLDER, "lines")
require "active_job"
require "active_support/all"
require "guildhall/kafka/active_job"
require_relative "classes"
GeneratedMigrations.run("jobs")

SERVERS = ARGV.fetch(0)
STEPS = %w[performed deleted counted finished].shuffle.freeze
WRITERS = 3
KEYS = 5
PARTS = 8
MOST = 200 # jobs that wait: on a busy machine writers are faster than who performs
PERFORMER = File.expand_path("performer.rb", __dir__)
LOG = File.join(FOLDER, "performers.log")

Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": SERVERS} }
draw_routes
admin = Rdkafka::Config.new("bootstrap.servers": SERVERS).admin
topics = QUEUES.flat_map { |name| [name, "#{name}.dead"] }
topics.map { |name| admin.create_topic(name, 3, 1) }.each { |handle| handle.wait(max_wait_timeout_ms: 60_000) }
admin.close

def lines = File.exist?(ENV.fetch("LINES")) ? File.readlines(ENV.fetch("LINES"), chomp: true).map(&:split) : []
def spawn_performer(*step) = Process.spawn(RbConfig.ruby, "-W0", PERFORMER, SERVERS, *step, out: [LOG, "a"], err: %i[child out])
def log = File.read(LOG).lines.last(60).join
def ended?(pid) = Process.wait(pid, Process::WNOHANG)

# Batches, and unique jobs of few keys, which others enqueue at the same time.
class Writer
  include WritingThread

  attr_reader :batches, :taken, :refused, :deadlocks

  def initialize(number)
    @number = number
    @batches = []
    @taken = []
    @refused = @deadlocks = @count = 0
  end

  private

  def write
    @count += 1
    name = "#{@number}-#{@count}"
    unique = committed = nil
    ActiveRecord::Base.transaction do
      Batch.enqueue(Array.new(PARTS) { |part| PartJob.new(name, part) }, on_finish: ReportJob.new(name)) if (@count % 4).zero?
      key = rand(KEYS)
      unique = UniqueJob.perform_later(key, name) && [key.to_s, name]
      raise ActiveRecord::Rollback if rand(5).zero?

      committed = true
    end
    (unique ? @taken << unique : @refused += 1) if committed
    @batches << name if committed && (@count % 4).zero?
    sleep(0.1)
    sleep(0.1) until @ended || TrackedJob.count < MOST
  rescue ActiveRecord::Deadlocked, ActiveRecord::SerializationFailure
    @deadlocks += 1
  end
end

begin
  writers = Array.new(WRITERS) { |number| Writer.new(number).start }
  running = []
  STEPS.each do |step|
    running = [spawn_performer(step, rand(5..20).to_s), spawn_performer]
    eventually("killed at #{step}", 180) { ended?(running.first) && ($?.termsig == 9 || abort("#{$?}:\n#{log}")) } # by itself
    Process.kill(:TERM, running.last)
    eventually("ended", 60) { ended?(running.last) }
  end
  running = [spawn_performer, spawn_performer]
  sleep(2)
  writers.each(&:finish)
  wanted = writers.flat_map(&:batches)
  taken = writers.flat_map(&:taken)
  eventually("all reported", 180) do
    found = lines
    (wanted - found.filter_map { |kind, name| name if kind == "report" }).empty? &&
      (taken - found.filter_map { |kind, *rest| rest if kind == "unique" }).empty? && TrackedJob.none? && Batch.none? && Message.none?
  end
  running.each { |pid| Process.kill(:TERM, pid) }
  running.each { |pid| eventually("ended", 60) { ended?(pid) } }

  found = lines
  reports = Guildhall::Kafka.each_message("#{ENV.fetch("QUEUE")}-reports").map { |one| [JSON.parse(one.raw_payload)["arguments"].first, one.headers["outbox_id"]] }
  errors = wanted.flat_map do |name|
    first = found.index(["report", name])
    before = found.first(first).filter_map { |kind, batch, part| part if kind == "part" && batch == name }.uniq
    [*("#{name}: reported before #{PARTS + 1} parts were performed: #{before}" if before.size < PARTS + 1),
     *("#{name}: reported by #{reports.count { |batch, _| batch == name }} jobs" if reports.uniq.count { |batch, _| batch == name } != 1)]
  end
  errors << "reports of batches that were rolled back: #{(reports.map(&:first) - wanted).first(3)}" if (reports.map(&:first) - wanted).any?
  performed = found.filter_map { |kind, *rest| rest if kind == "unique" }
  errors << "unique jobs that were rolled back: #{(performed - taken).first(3)}" if (performed - taken).any?
  letters = QUEUES.flat_map { |name| Guildhall::Kafka.each_message("#{name}.dead").to_a }
  errors << "dead letters: #{letters.first.headers}" if letters.any?
  errors << "only #{taken.size} unique jobs were taken" if taken.size <= KEYS
  equal(Array.new(KEYS) { true }, Array.new(KEYS) { |key| UniqueJob.perform_later(key, "last") != false })
  abort(errors.join("\n")) if errors.any?
  puts "ok #{wanted.size} batches, #{found.count { |kind,| kind == "part" }} of #{wanted.size * (PARTS + 2)} parts performed, #{taken.size} unique jobs taken, " \
       "#{writers.sum(&:refused)} refused, #{performed.size - taken.size} performed again, #{writers.sum(&:deadlocks)} deadlocks, #{STEPS.size} processes killed"
ensure
  if $!
    warn("#{Message.count} messages of the outbox, #{TrackedJob.count} jobs and #{Batch.count} batches are left, #{lines.size} lines are written:", log,
      *lines.last(5).map { |words| words.join(" ") }, $!.full_message(highlight: false)) # last: a long output may have lost its beginning
  end
  running&.each do |pid|
    Process.kill(:KILL, pid)
    Process.wait(pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end
end
