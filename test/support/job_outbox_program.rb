# frozen_string_literal: true

# Jobs that go through an outbox, and those that are unique or in batches: with the tables of both generators.
require_relative "outbox_program"
require "active_job"
require "active_support/all"
require "guildhall/kafka/active_job"

GeneratedMigrations.run("jobs")

ActiveJob::Base.include(ActiveJob::EnqueueAfterTransactionCommit) # as Rails does
ActiveJob::Base.logger = Logger.new(nil)
ActiveJob::Base.queue_adapter = :guildhall
Batch = Guildhall::Kafka::ActiveJob::Batch
TrackedJob = Guildhall::Kafka::ActiveJob::TrackedJob
DONE = Thread::Queue.new
Guildhall::Kafka.instrumentation.subscribe("batch.finished") { |event| EVENTS << [event.name, event.payload] }
def done = Array.new(DONE.size) { DONE.pop }

# Notes what it is performed with.
class Job < ActiveJob::Base
  queue_as "jobs"
  guildhall_options produce: :outbox, key: ->(job) { job.arguments.first.to_s }
  def perform(*arguments) = DONE << arguments
end

def transaction(&) = ActiveRecord::Base.transaction(&)
def roll_back = raise(ActiveRecord::Rollback)
# @return [Array<Hash>] what the outbox has
def stored = Message.order(:id).map(&:to_message)
def jobs_of(messages) = messages.map { |message| JSON.parse(message[:payload])["arguments"] }

# Sends what the outbox has to the queue, and performs it.
def perform_stored(topic)
  messages = stored
  Message.delete_all
  topic.deliver(*messages.map { |message| Guildhall::Kafka::Testing.message(message[:payload], key: message[:key], headers: message[:headers]) })
end
