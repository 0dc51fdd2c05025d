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
      equal([[[1], [2]], 1, 0, ["Job"]], [done, batch.reload.pending, Message.count, batch.jobs.pluck(:job_class)])
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

  # As the guide has it. Its jobs that come later are skipped, and on_finish is not enqueued.
  def test_a_batch_that_is_given_up
    assert_jobs(<<~'RUBY')
      batch = Batch.enqueue([Job.new(1), Job.new(2)], on_finish: Report.new("never"))
      batch.jobs.delete_all
      batch.destroy
      equal([[], []], perform_all)
      equal([0, 0], [Batch.count, TrackedJob.count])
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

  # It adds nothing to the batch, which may have finished.
  def test_a_job_that_is_counted_is_not_performed_again
    assert_jobs(<<~'RUBY')
      class Adding < Job
        def perform(*) = (DONE << [:adds]; Batch.current.add([Job.new("added")]))
      end
      Batch.enqueue([Adding.new], on_finish: Report.new("x"))
      message = stored.first
      again = -> { TOPIC.deliver(Guildhall::Kafka::Testing.message(message[:payload], headers: message[:headers])) }
      perform_stored(TOPIC)
      again.()
      equal([[:adds], 2, 1], [done.flatten, *Batch.pick(:size, :pending)])
      equal([[["added"]], ["reports"]], perform_all)
      again.()
      equal([[], [], 1], [done, TOPIC.dead_letters, Message.count])
    RUBY
  end

  # It has one row, and is counted as often as that is deleted: once.
  def test_a_job_that_is_there_twice
    assert_jobs(<<~'RUBY')
      class Selfish < Job
        def perform(*) = (DONE << [Batch.current.add([self, Job.new("other")]).size, successfully_enqueued?])
      end
      jobs = [Job.new(1), Job.new(2)]
      batch = Batch.enqueue([jobs[0], jobs[1], jobs[0]], on_finish: Report.new("x"))
      equal([2, 2, true, %w[1 2]], [batch.size, batch.pending, jobs[0].successfully_enqueued?, stored.map { |one| one[:key] }])
      batch.add([jobs[1], Job.new(3)])
      equal([3, 3, false], [batch.size, batch.pending, jobs[1].successfully_enqueued?])
      Batch.enqueue([jobs[0]], on_finish: Report.new("it is in another batch"))
      equal([[[1], [2], [3], [:report, "it is in another batch"]], ["reports"]], perform_all)
      Message.delete_all
      Batch.enqueue([Selfish.new], on_finish: Report.new("x"))
      equal([[[2, false]], ["jobs"]], perform_all)
      equal([[["other"]], ["reports"]], perform_all)
    RUBY
  end

  # An application that rescues the error and commits has enqueued none of the jobs.
  def test_what_raises_has_written_nothing
    assert_jobs(<<~'RUBY')
      class Picky < Job
        guildhall_options unique_for: 60, key: ->(job) { job.arguments.first || raise(KeyError) }
      end
      class Elsewhere < ActiveJob::Base
        self.queue_adapter = :inline
      end
      batch = Batch.enqueue([Job.new(0)], on_finish: Report.new("x"))
      [Elsewhere.new, 5].each { |one| raised(Guildhall::ArgumentError) { batch.add([Job.new(1), one]) } }
      equal([1, 1], [batch.reload.size, Message.count])
      perform_all
      Message.delete_all
      late = Job.new(1)
      many = Array.new(1_500) { |number| Picky.new(number) }
      transaction do
        raised(Batch::FinishedError) { batch.add([late]) }
        raised(KeyError) { Batch.enqueue([*many, Picky.new(nil)], on_finish: Report.new("x")) }
        raised(KeyError) { ActiveJob.perform_all_later(Picky.new("a"), Picky.new(nil)) }
        raised(KeyError) { Picky.perform_later(nil) }
      end
      equal([0, 0, 0, nil, nil], [Message.count, TrackedJob.count, Batch.count, late.successfully_enqueued?, many[0].successfully_enqueued?])
    RUBY
  end

  def test_the_batch_is_known_in_fibers
    assert_jobs(<<~'RUBY')
      class Lazily < Job
        retry_on(IOError, wait: 0)
        around_perform { |_, block| Fiber.new { block.call }.resume }
        def perform(*) = (DONE << [Enumerator.new { |given| given << Batch.current.id }.next, executions]; executions == 1 && retry_job)
      end
      batch = Batch.enqueue([Lazily.new], on_finish: Report.new("x"))
      equal([[[batch.id, 1]], []], perform_all)
      again = TOPIC.produced.last
      TOPIC.deliver(Guildhall::Kafka::Testing.message(again[:payload], headers: again[:headers]))
      equal([[[batch.id, 2]], 0, ["reports"]], [done, Batch.count, stored.map { |one| one[:topic] }])
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

  def test_open_batches_are_measured
    assert_jobs(<<~'RUBY')
      Guildhall::Kafka.instrumentation.subscribe("batch.measured") { |event| EVENTS << [event.name, event.payload] }
      equal({open: 0, jobs: 0, seconds: 0.0}, Batch.status.to_h)
      first = Batch.enqueue([Job.new(1), Job.new(2)], on_finish: Report.new("x"))
      Batch.enqueue([Job.new(3)], on_finish: Report.new("x"))
      first.update!(created_at: Time.now - 50)
      relaying(FakeProducer.new) do
        measured = eventually("measured") { events("batch.measured").last }
        equal([2, 3, true], [measured[:open], measured[:jobs], measured[:seconds].between?(50, 650)])
      end
      Batch.with_connection { |connection| connection.drop_table(Batch.table_name) } # an outbox does not need it
      Outbox.produce(topic: "orders", key: "a", payload: "1")
      relaying(FakeProducer.new) do |relay|
        eventually("sent") { Message.none? }
        equal(nil, relay.problem)
      end
    RUBY
  end

  def test_a_migration_that_has_not_run_is_named
    assert_jobs(<<~'RUBY')
      %i[guildhall_tracked_jobs guildhall_job_batches].each { |name| ActiveRecord::Base.connection.drop_table(name) }
      unique = Class.new(Job) { def self.name = "Unique" }
      unique.guildhall_options unique_for: 60
      [-> { Batch.enqueue([Job.new(1)], on_finish: Report.new("all")) }, -> { unique.perform_later(1) }].each do |call|
        equal(true, raised(Outbox::MissingTablesError, &call).message.include?("bin/rails generate guildhall:jobs"))
      end
      equal([], stored)
    RUBY
  end

  private

  def assert_jobs(code) = assert_equal("", assert_ruby("load #{PROGRAM.dump}\n#{BATCH}\n#{code}", options: ["-W0"]))
end
