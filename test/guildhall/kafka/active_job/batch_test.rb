# frozen_string_literal: true

require "test_helper"

# On SQLite, each test in a process of its own. On other databases, and with processes that are killed: test/integration/jobs/account.rb.
class ActiveJobBatchTest < GuildhallTest
  PROGRAM = File.expand_path("../../../support/job_outbox_program.rb", __dir__)
  BATCH = <<~'RUBY'
    class Report < ActiveJob::Base
      queue_as "reports"
      def perform(name) = DONE << [:report, name]
    end
    Guildhall::Kafka.routes { active_job_topic("jobs", parallel: false) }
    TOPIC = Guildhall::Kafka::Testing.topic("jobs")
    # @return [Array] what has been performed, and the topics of what was enqueued then
    def perform_all = (perform_stored(TOPIC); [done, stored.map { |one| one[:topic] }])
  RUBY

  def test_the_last_job_is_enqueued_when_all_are_done
    assert_jobs(<<~'RUBY')
      class Direct < Job
        guildhall_options produce: :sync
      end
      jobs = [Job.new(1), Direct.new(2), Job.new(3)]
      batch = Batch.enqueue(jobs, on_finish: Report.new("all"))
      equal([3, 3, [true, true, true]], [batch.size, batch.pending, jobs.map(&:successfully_enqueued?)])
      equal([batch.id.to_s], stored.map { |one| one[:headers]["tracked_job"] }.uniq)
      messages = stored
      Message.delete_all
      deliver = ->(message) { TOPIC.deliver(Guildhall::Kafka::Testing.message(message[:payload], key: message[:key], headers: message[:headers])) }
      deliver.(messages[0])
      deliver.(messages[0]) # again, as after a crash
      deliver.(messages[1])
      equal([[[1], [1], [2]], 1, 0, ["Job"]], [done, batch.reload.pending, Message.count, batch.jobs.pluck(:job_class)])
      deliver.(messages[2])
      equal([nil, 0], [Batch.find_by(id: batch.id), TrackedJob.count])
      equal([[batch.id, 3, true]], events("batch.finished").map { |one| [*one.values_at(:id, :size), one[:seconds] >= 0] })
      report = stored
      equal([["reports", nil, "Report", ["all"]]], report.map { |one| [one[:topic], one[:key], *JSON.parse(one[:payload]).values_at("job_class", "arguments")] })
      deliver.(messages[2])
      equal(report, stored)
    RUBY
  end

  def test_a_batch_is_part_of_the_transaction
    assert_jobs(<<~'RUBY')
      transaction { Batch.enqueue([Job.new(1)], on_finish: Report.new("x")); roll_back }
      equal([0, 0, 0], [Batch.count, TrackedJob.count, Message.count])
      raised(ActiveJob::SerializationError) { Batch.enqueue([Job.new(1), Job.new(Object.new)], on_finish: Report.new("x")) }
      equal([0, 0, 0], [Batch.count, TrackedJob.count, Message.count])
      transaction { Batch.enqueue([], on_finish: Report.new("rolled back")); roll_back }
      equal([], events("batch.finished"))
      Batch.enqueue([], on_finish: Report.new("nothing"))
      equal([0, ["reports"]], [Batch.count, stored.map { |one| one[:topic] }])
    RUBY
  end

  def test_a_job_adds_others
    assert_jobs(<<~'RUBY')
      class Splitting < Job
        def perform(number)
          DONE << [Batch.current&.id, number]
          Batch.current&.add([Splitting.new(number - 1), Splitting.new(number - 2)]) if number > 1
        end
      end
      batch = Batch.enqueue([Splitting.new(3)], on_finish: Report.new("x"))
      equal([[[batch.id, 3]], ["jobs", "jobs"]], perform_all)
      equal([3, 2], [batch.reload.size, batch.pending])
      equal([[[batch.id, 2], [batch.id, 1]], ["jobs", "jobs"]], perform_all)
      equal([[[batch.id, 1], [batch.id, 0]], ["reports"]], perform_all)
      raised(Batch::FinishedError, Guildhall::Error) { batch.add([Job.new(1)]) }
      equal([1, 0], [Message.count, TrackedJob.count])
      equal(nil, Batch.current)
      Message.delete_all
      Splitting.perform_later(5)
      equal([[[nil, 5]], []], perform_all)
    RUBY
  end

  def test_many_jobs
    assert_jobs(<<~'RUBY')
      inserts = 0
      ActiveSupport::Notifications.subscribe("sql.active_record") { |*, event| inserts += 1 if event[:sql].include?("INSERT INTO \"guildhall_outbox_messages\"") }
      batch = Batch.enqueue(Array.new(2_500) { |number| Job.new(number) }.each, on_finish: Report.new("x"))
      equal([2500, 2500, 2500, 3], [batch.size, batch.pending, batch.jobs.count, inserts])
    RUBY
  end

  def test_what_is_done
    assert_jobs(<<~'RUBY')
      class Odd < Job
        discard_on(IOError)
        retry_on(KeyError, wait: 0, attempts: 2) { nil }
        def perform(kind) = kind == "abort" ? abort : raise(Object.const_get(kind))
      end
      class Halted < Job
        before_perform { throw :abort }
      end
      batch = Batch.enqueue([Odd.new("IOError"), Odd.new("KeyError"), Odd.new("RuntimeError"), Halted.new], on_finish: Report.new("x"))
      perform_stored(TOPIC)
      equal([2, %w[Odd Odd]], [batch.reload.pending, batch.jobs.pluck(:job_class)]) # KeyError comes again; RuntimeError is a dead letter
      again = TOPIC.produced.last
      TOPIC.deliver(Guildhall::Kafka::Testing.message(again[:payload], headers: again[:headers]))
      equal([1, 1, 0], [batch.reload.pending, TOPIC.dead_letters.size, Message.count])
    RUBY
  end

  def test_unique_jobs_of_a_batch
    assert_jobs(<<~'RUBY')
      class Unique < Job
        guildhall_options unique_for: 600
      end
      Unique.perform_later("a")
      Message.delete_all
      jobs = [Unique.new("a"), Unique.new("b"), Unique.new("b")]
      batch = Batch.enqueue(jobs, on_finish: Report.new("x"))
      equal([1, 1, [false, true, false]], [batch.size, batch.pending, jobs.map(&:successfully_enqueued?)])
      TrackedJob.where(batch_id: batch.id).update_all(expires_at: Time.now - 1)
      Unique.perform_later("b") || abort
      equal([0, 1], [TrackedJob.expired.count, batch.jobs.count])
      equal([[["b"], ["b"]], ["reports"]], perform_all)
    RUBY
  end

  def test_what_no_batch_takes
    assert_jobs(<<~'RUBY')
      class Unique < Job
        guildhall_options unique_for: 600
      end
      class Elsewhere < ActiveJob::Base
        self.queue_adapter = :inline
      end
      error = raised(Guildhall::ArgumentError) { Batch.enqueue([Job.new(1), Elsewhere.new], on_finish: Report.new("x")) }
      equal("a batch takes jobs whose queue_adapter is :guildhall, not Elsewhere", error.message)
      raised(Guildhall::ArgumentError) { Batch.enqueue([5], on_finish: Report.new("x")) }
      [Unique.new(1), Report.new("x").set(wait: 5), Elsewhere.new, nil].each { |last| raised(Guildhall::ArgumentError) { Batch.enqueue([Job.new(1)], on_finish: last) } }
      equal([0, 0], [Batch.count, Message.count])
    RUBY
  end

  def test_a_migration_that_has_not_run_is_named
    assert_jobs(<<~'RUBY')
      %i[guildhall_tracked_jobs guildhall_job_batches].each { |name| ActiveRecord::Base.connection.drop_table(name) }
      unique = Class.new(Job) { def self.name = "Unique" }
      unique.guildhall_options unique_for: 60
      [-> { Batch.enqueue([Job.new(1)], on_finish: Report.new("all")) }, -> { unique.perform_later(1) }].each do |call|
        equal(true, raised(Outbox::MissingTablesError, &call).message.end_with?("run bin/rails generate guildhall:jobs before it"))
      end
      equal([], stored)
    RUBY
  end

  private

  def assert_jobs(code) = assert_equal("", assert_ruby("load #{PROGRAM.dump}\n#{BATCH}\n#{code}", options: ["-W0"]))
end
