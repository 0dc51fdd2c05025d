# frozen_string_literal: true

# What Rails does with perform_later in a transaction, and what the adapter makes of it, in the version of Rails that is loaded. Usage:
# transactions.rb VERSION
require_relative "../../support/job_outbox_program"

equal(ARGV.fetch(0), ActiveJob.version.to_s)
MAJOR = ActiveJob.version.segments.first
OLD = MAJOR < 8
PRODUCED = Thread::Queue.new
PRODUCER = Guildhall::Kafka::Testing::Offline::Producer.new([])
PRODUCER.singleton_class.prepend(Module.new do
  def produce_async(message)
    PRODUCED << JSON.parse(message[:payload])["arguments"].first
    super
  end
end)
Guildhall::Kafka.singleton_class.prepend(Module.new { def producer = PRODUCER })

# Sends at once: Rails' default in all versions, but for load_defaults 7.2, see below.
class Plain < ActiveJob::Base
  queue_as "jobs"
  def perform(*) = nil
end

# After the commit.
class Deferred < Plain
  self.enqueue_after_transaction_commit = OLD ? :always : true
end

def sent
  yield
  Array.new(PRODUCED.size) { PRODUCED.pop }
end

# In a transaction, and how much was sent before and after it ended.
def around(&block)
  before = nil
  after = sent do
    transaction do
      before = sent(&block)
      roll_back if @rolls_back
    end
  end
  [before, after]
end

def rolled_back(&)
  @rolls_back = true
  around(&)
ensure
  @rolls_back = false
end

equal([["plain"], []], around { Plain.perform_later("plain") })
equal([["plain"], []], rolled_back { Plain.perform_later("plain") }) # which nobody wants
job = nil
equal([[], ["deferred"]], around { (job = Deferred.perform_later("deferred")) || abort })
equal(true, job.provider_job_id.start_with?("jobs/0@"))
equal([[], []], rolled_back { Deferred.perform_later("deferred") })
equal([["deferred"], []], [sent { Deferred.perform_later("deferred") }, []])
all = around { ActiveJob.perform_all_later(Deferred.new("all")) }
equal(ActiveJob.version >= Gem::Version.new("8.1") ? [[], ["all"]] : [["all"], []], all)

# `load_defaults "7.2"` leaves it to the adapter, which defers.
if OLD
  class Default < Plain
    self.enqueue_after_transaction_commit = :default
  end
  equal([[], ["default"]], around { Default.perform_later("default") })
end

# The outbox is written in the transaction, in all versions, whatever the superclass says.
class Stored < Deferred
  guildhall_options produce: :outbox, unique_for: 60
end
rows = nil
transaction do
  Stored.perform_later(1) || abort
  ActiveJob.perform_all_later(Stored.new(2), Stored.new(1))
  rows = Message.count
end
equal([2, 2, [1, 2]], [rows, Message.count, jobs_of(stored).flatten])
transaction do
  Stored.perform_later(3) || abort
  roll_back
end
equal(2, Message.count)
# A record that is created in the transaction is there for the job.
Batch.enqueue([Plain.new(4)], on_finish: Plain.new(5))
equal([4, 3], [jobs_of(stored).last.first, TrackedJob.count])
equal(0, PRODUCED.size)

# What Active Job asks of an adapter.
jobs = [Plain.new("a"), Plain.new("b")]
ActiveJob.perform_all_later(jobs)
equal([true, true, nil], [*jobs.map(&:successfully_enqueued?), jobs.first.enqueue_error])
if ActiveJob.version >= Gem::Version.new("8.1")
  class Steps < Plain
    include ActiveJob::Continuable

    def perform = step(:one) { DONE << :one }
  end
  Guildhall::Kafka.routes { active_job_topic("jobs", parallel: false) }
  Guildhall::Kafka::Testing.topic("jobs").deliver(Steps.new)
  equal([:one], done)
end
puts "ok"
