# frozen_string_literal: true

# What account.rb enqueues and performer.rb performs. Each performance is a line of the file LINES.
ActiveJob::Base.queue_adapter = :guildhall
ActiveJob::Base.logger = Logger.new(nil)
Batch = Guildhall::Kafka::ActiveJob::Batch
TrackedJob = Guildhall::Kafka::ActiveJob::TrackedJob

QUEUES = ["", "-unique", "-reports"].map { |suffix| "#{ENV.fetch("QUEUE")}#{suffix}" }.freeze

def note(*words) = File.open(ENV.fetch("LINES"), "a") { |file| file.syswrite("#{words.join(" ")}\n") }

# One of a batch. The second job of each adds another one.
class PartJob < ActiveJob::Base
  queue_as ENV.fetch("QUEUE")
  guildhall_options key: ->(job) { job.arguments.first.to_s }
  retry_on KeyError, wait: 0
  def perform(batch, number)
    note("part", batch, number)
    Batch.current&.add([PartJob.new(batch, 1000)]) if number == 1
    raise KeyError if number == 2 && executions == 1
  end
end

# The last one of a batch.
class ReportJob < ActiveJob::Base
  queue_as "#{ENV.fetch("QUEUE")}-reports"
  def perform(batch) = note("report", batch)
end

# One at a time of each key.
class UniqueJob < ActiveJob::Base
  queue_as "#{ENV.fetch("QUEUE")}-unique"
  guildhall_options produce: :outbox, unique_for: 3600, unique_by: ->(job) { job.arguments.first }
  def perform(key, number) = note("unique", key, number)
end

def draw_routes
  Guildhall::Kafka.routes do
    active_job_topic(*QUEUES)
    delay_topics false
  end
end
