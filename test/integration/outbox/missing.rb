# frozen_string_literal: true

# What is said where the migrations of outbox and jobs have not run, or are those of an earlier version, in the database that DATABASE names: by
# whoever writes, by the relay, by `guildhall outbox`, by the check. Nothing is printed where all is as it should be.
require_relative "../../support/job_outbox_program"
require "guildhall/cli"
require "stringio"

RUN = "run bin/rails db:migrate; where db/migrate has no migration for it, run bin/rails generate guildhall:%s before that"
FILE = File.join(FOLDER, "application.rb").tap { |file| File.write(file, "") }
Missing = Outbox::MissingTablesError
Unique = Class.new(Job) do
  def self.name = "UniqueJob"
  guildhall_options unique_for: 60
end

def change(&) = ActiveRecord::Base.with_connection(&)
# As a process that begins now knows it.
def forget(record) = record.reset_column_information
def within(error, *parts) = parts.each { |part| error.include?(part) || abort("line #{caller_locations(1, 1).first.lineno}: #{part.inspect} is not in #{error.inspect}") }
def check(**) = Guildhall::Kafka::OutboxCheck.problems(Guildhall::Kafka.config, **)

def guildhall_outbox
  err = StringIO.new
  [Guildhall::CLI.new(out: StringIO.new, err:).run(["outbox", "status", "-r", FILE]), err.string]
end

def told_by_relay
  relaying(FakeProducer.new) { |relay| return eventually("a problem") { relay.problem } }
end

# All is there.
Guildhall::Kafka.config.outbox = true
equal([], check)
Message.columns_hash
[true, false].each do |known|
  change { |connection| connection.rename_column(Message.table_name, :options, :other) }
  forget(Message) unless known
  error = raised(Missing) { Outbox.produce(topic: "orders", key: "a", payload: "1", headers: {"a" => "b"}) }.message
  within(error, "the table guildhall_outbox_messages is missing, or that of an earlier version (", "options", format(RUN, "outbox"))
  text = "the table guildhall_outbox_messages is that of an earlier version, without the column options: #{format(RUN, "outbox")}"
  equal([["guildhall_outbox_messages", text]], check.map { |one| [one.name, one.to_s] })
  within(told_by_relay, text)
  change { |connection| connection.rename_column(Message.table_name, :other, :options) }
  forget(Message)
end
Outbox.produce(topic: "orders", key: "a", payload: "1")
equal(1, Message.count)
change { |connection| connection.rename_column(Message.table_name, :parked, :other) }
within(told_by_relay, "without the column parked")
status, text = guildhall_outbox
equal(1, status)
within(text, "earlier version", "parked", format(RUN, "outbox"))
change { |connection| connection.rename_column(Message.table_name, :other, :parked) }

# No table.
{Message => "outbox", TrackedJob => "jobs"}.each do |record, generator|
  [true, false].each do |known|
    change { |connection| connection.rename_table(record.table_name, :elsewhere) }
    forget(record) unless known
    within(raised(Missing) { Unique.perform_later(1) }.message, "the table #{record.table_name} is missing, or", format(RUN, generator))
    equal(["the table #{record.table_name} is missing: #{format(RUN, generator)}"], check.map(&:to_s))
    within(told_by_relay, "is missing", format(RUN, generator)) if record == Message
    change { |connection| connection.rename_table(:elsewhere, record.table_name) }
    forget(record)
  end
end
equal([], check)

# Of batches, too; in a transaction, which the database may give up.
change { |connection| connection.rename_table(Batch.table_name, :elsewhere) }
forget(Batch)
text = raised(Missing) { transaction { Batch.enqueue([Job.new(1)], on_finish: Job.new(2)) } }.message
within(text, "guildhall_job_batches", format(RUN, "jobs"))
change { |connection| connection.rename_table(:elsewhere, Batch.table_name) }

# What else a database says stays what it is.
raised(ActiveRecord::StatementInvalid) { Message.explaining { Message.where("1 = (").to_a } }
raised(ActiveRecord::NotNullViolation) { Message.explaining { Message.insert!({shard: nil, topic: "a", created_at: Time.now}) } }

# Nothing sends what jobs write.
Guildhall::Kafka.reset
Guildhall::Kafka.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
text = "Job, UniqueJob have produce: :outbox, and config.outbox is off: no process of this application sends what these jobs write: " \
       "config.outbox = true, in config/guildhall.rb"
equal([text], check.map(&:to_s))
equal([text], check(load_jobs: true).map(&:to_s)) # without Rails
