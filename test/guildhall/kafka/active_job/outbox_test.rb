# frozen_string_literal: true

require "test_helper"

# Jobs whose messages are rows of the outbox, on SQLite, each test in a process of its own.
class ActiveJobOutboxTest < GuildhallTest
  PROGRAM = File.expand_path("../../../support/job_outbox_program.rb", __dir__)

  def test_a_job_is_enqueued_if_the_transaction_is_committed
    assert_jobs(<<~'RUBY')
      transaction { Job.perform_later("rolled back") || abort; roll_back }
      equal(0, Message.count)
      job = transaction { Job.perform_later("kept", 1) }
      equal([true, nil], [job.successfully_enqueued?, job.provider_job_id])
      equal([["jobs", "kept", job.job_id]], stored.map { |one| [one[:topic], one[:key], JSON.parse(one[:payload])["job_id"]] })
      Job.perform_later("alone")
      equal([["kept", 1], ["alone"]], jobs_of(stored))
      equal(false, Message.order(:id).last.to_message[:headers].key?("tracked_job"))
    RUBY
  end

  # Rows are in the order of the calls, in the shard of their key.
  def test_many_at_once
    assert_jobs(<<~'RUBY')
      class Direct < Job
        guildhall_options produce: :sync, key: nil
      end
      sent = []
      Guildhall::Kafka.producer.define_singleton_method(:produce_async) do |message|
        sent << message
        raise Guildhall::Kafka::ProduceError.of(-192, "jobs")
      end
      jobs = [Job.new("a", 1), Direct.new("b"), Job.new("a", 2), Job.new("c").set(wait: 3600)]
      error = raised(NotImplementedError) { ActiveJob.perform_all_later(jobs) }
      equal([true, 0], [error.message.include?("no delay topics"), Message.count])
      Guildhall::Kafka.routes { delay_topics 1, 60, prefix: "later" }
      transaction do
        ActiveJob.perform_all_later(jobs)
        equal([true, false, true, true], jobs.map(&:successfully_enqueued?))
        equal([NilClass, ActiveJob::EnqueueError, NilClass, NilClass], jobs.map { |job| job.enqueue_error.class })
        roll_back
      end
      equal([1, 0], [sent.size, Message.count])
      ActiveJob.perform_all_later(jobs)
      rows = stored
      equal([["jobs", "a", 1], ["jobs", "a", 2], ["later.60", "c", nil]], rows.map { |one| [one[:topic], one[:key], JSON.parse(one[:payload])["arguments"][1]] })
      equal("jobs", rows.last[:headers]["delay_topic"])
      equal(1, Message.where(key: "a").distinct.pluck(:shard).size)
    RUBY
  end

  def test_a_database_that_refuses_is_no_false
    assert_jobs(<<~'RUBY')
      ActiveRecord::Base.connection.add_check_constraint(:guildhall_outbox_messages, "topic = 'none'")
      raised(ActiveRecord::StatementInvalid) { Job.perform_later(1) }
      job = Job.new(1)
      raised(ActiveRecord::StatementInvalid) { ActiveJob.perform_all_later(job) }
      equal(false, job.successfully_enqueued? || false)
    RUBY
  end

  def test_what_the_middleware_does_it_does_once
    assert_jobs(<<~'RUBY')
      Guildhall::Kafka.config.producer_middleware = [->(message) { {**message, headers: {**message[:headers], "steps" => message[:headers]["steps"].to_s + "x"}} }]
      Guildhall::Kafka.routes { delay_topics 1, 60, prefix: "later" }
      ActiveJob.perform_all_later(Job.new(1), Job.new(2).set(wait: 3600))
      equal(%w[x x], stored.map { |one| one[:headers]["steps"] })
    RUBY
  end

  # A job that is enqueued after the transaction is not part of it.
  def test_enqueueing_after_the_commit_excludes_the_outbox
    assert_jobs(<<~'RUBY')
      equal(false, Job.enqueue_after_transaction_commit)
      class Contradiction < Job
        self.enqueue_after_transaction_commit = true
      end
      error = raised(Guildhall::ArgumentError) { transaction { Contradiction.perform_later } }
      equal(true, error.message.include?("Contradiction has produce: :outbox, and enqueue_after_transaction_commit"))
      raised(Guildhall::ArgumentError) { transaction { ActiveJob.perform_all_later(Contradiction.new) } }
      class After < ActiveJob::Base
        self.enqueue_after_transaction_commit = true
        guildhall_options produce: :outbox
      end
      transaction { After.perform_later(1); roll_back }
      equal(0, Message.count)
      raised(Guildhall::ArgumentError) { Job.guildhall_options(produce: :database) }
    RUBY
  end

  # A retry has been consumed before: it goes where it came from, and the database has no part in it.
  def test_a_job_that_is_retried_goes_to_its_topic
    assert_jobs(<<~'RUBY')
      class Flaky < Job
        retry_on KeyError, wait: 0
        def perform = (DONE << executions; executions < 3 && raise(KeyError))
      end
      Guildhall::Kafka.routes { active_job_topic("jobs", parallel: false) }
      Flaky.perform_later
      topic = perform_stored(Guildhall::Kafka::Testing.topic("jobs"))
      equal([[1], 0], [done, Message.count])
      equal([["jobs", 1]], topic.produced.map { |one| [one[:topic], JSON.parse(one[:payload])["executions"]] })
      # jobs that a job enqueues are others
      class Outer < Job
        def perform = transaction { Job.perform_later("inner") }
      end
      Outer.perform_later
      perform_stored(topic)
      equal([["inner"]], jobs_of(stored))
    RUBY
  end

  private

  def assert_jobs(code) = assert_equal("", assert_ruby("load #{PROGRAM.dump}\n#{code}", options: ["-W0"]))
end
