# frozen_string_literal: true

require "test_helper"

# Unique jobs, on SQLite, each test in a process of its own. On other databases, and with what they do at the same time:
# test/integration/jobs/account.rb.
class ActiveJobUniqueTest < GuildhallTest
  PROGRAM = File.expand_path("../../../support/job_outbox_program.rb", __dir__)
  UNIQUE = <<~'RUBY'
    class Unique < Job
      guildhall_options unique_for: 600
    end
    Guildhall::Kafka.routes { active_job_topic("jobs", parallel: false) }
    def topic = Guildhall::Kafka::Testing.topic("jobs")
  RUBY

  def test_one_at_a_time
    assert_jobs(<<~'RUBY')
      first = Unique.perform_later("a", 1)
      equal(false, Unique.perform_later("a", 1) { |job| DONE << job.enqueue_error })
      error = DONE.pop
      equal([Guildhall::Kafka::ActiveJob::DuplicateJobError, true], [error.class, error.is_a?(Guildhall::Error) && error.is_a?(ActiveJob::EnqueueError)])
      equal("another Unique with the same key is enqueued, and not done", error.message)
      class Other < Unique; end
      equal([true, true], [Unique.perform_later("a", 2), Other.perform_later("a", 1)].map(&:successfully_enqueued?))
      jobs = [Unique.new("b"), Unique.new("b"), Unique.new("a", 1), Job.new("b")]
      equal(nil, ActiveJob.perform_all_later(jobs))
      equal([true, false, false, true], jobs.map(&:successfully_enqueued?))
      equal([nil, error.class, error.class, nil], jobs.map { |job| job.enqueue_error&.class })
      equal([["a", 1], ["a", 2], ["a", 1], ["b"], ["b"]], jobs_of(stored))
      equal([first.job_id, "Unique"], TrackedJob.order(:id).pick(:job_id, :job_class))
      # it is done
      perform_stored(topic)
      equal([5, 0], [done.size, TrackedJob.count])
      equal(true, Unique.perform_later("a", 1).successfully_enqueued?)
    RUBY
  end

  def test_what_is_rolled_back_was_never_there
    assert_jobs(<<~'RUBY')
      transaction { Unique.perform_later("a"); roll_back }
      equal([0, 0], [Message.count, TrackedJob.count])
      transaction { equal([true, false], [Unique.perform_later("a"), Unique.perform_later("a")].map { |job| job != false }) }
      equal([1, 1], [Message.count, TrackedJob.count])
    RUBY
  end

  def test_the_key
    assert_jobs(<<~'RUBY')
      class ByCustomer < Unique
        guildhall_options unique_by: ->(job) { job.arguments.first }
      end
      class ByName < Unique
        guildhall_options unique_by: :name
        def name = arguments.last[:name]
      end
      equal([true, false, true], [["a", 1], ["a", 2], ["b", 1]].map { |arguments| ByCustomer.perform_later(*arguments) != false })
      equal([true, false, true], [[1, {name: nil}], [2, {name: nil}], [1, {name: "x"}]].map { |number, options| ByName.perform_later(number, **options) != false })
      equal([true, false], Array.new(2) { ByCustomer.perform_later(Time.utc(2026)) != false })
      raised(ActiveJob::SerializationError) { ByCustomer.set(wait: 0).perform_later(Object.new) }
      raised(Guildhall::ArgumentError) { Class.new(ActiveJob::Base) { guildhall_options unique_for: 5 } }
      raised(Guildhall::ArgumentError) { Job.guildhall_options(unique_for: 0, produce: :outbox) }
      raised(Guildhall::ArgumentError) { Unique.guildhall_options(produce: :sync) }
    RUBY
  end

  # Hashes and keywords are equal in any order.
  def test_the_order_of_keys_is_no_other_key
    assert_jobs(<<~'RUBY')
      equal([true, false], [Unique.perform_later(1, a: 1, b: [{c: 1, d: 2}]), Unique.perform_later(1, b: [{d: 2, c: 1}], a: 1)].map { |job| job != false })
      equal([true, false, true], [{"a" => 1, "b" => nil}, {"b" => nil, "a" => 1}, {a: 1, b: nil}].map { |hash| Unique.perform_later(hash) != false })
      equal([true, true], [[1, 2], [2, 1]].map { |list| Unique.perform_later(list) != false })
      class Keywords < Unique
        def perform(first:, second:) = DONE << [first, second]
      end
      Message.delete_all
      Keywords.perform_later(second: 2, first: 1)
      perform_stored(topic)
      equal([[1, 2]], done)
    RUBY
  end

  def test_the_same_job_again
    assert_jobs(<<~'RUBY')
      job = Unique.new("a")
      equal([job, false], [job.enqueue, job.enqueue])
      equal(Guildhall::Kafka::ActiveJob::DuplicateJobError, job.enqueue_error.class)
      equal(false, ActiveJob::Base.deserialize(job.serialize).enqueue)
      other = Unique.new("b")
      ActiveJob.perform_all_later(other, job, other)
      equal([true, false, [["a"], ["b"]]], [other.successfully_enqueued?, job.successfully_enqueued?, jobs_of(stored)])
      TrackedJob.update_all(expires_at: Time.now - 1) # its key is free for others, and it is not done
      equal([false, true], [job.enqueue, Unique.perform_later("a") != false])
      plain = Job.new("c")
      ActiveJob.perform_all_later(plain, plain) # as with every adapter
      equal([["a"], ["b"], ["a"], ["c"], ["c"]], jobs_of(stored))
    RUBY
  end

  def test_many_at_once
    assert_jobs(<<~'RUBY')
      inserts = 0
      ActiveSupport::Notifications.subscribe("sql.active_record") { |*, event| inserts += 1 if event[:sql].include?("INSERT INTO \"guildhall_outbox_messages\"") }
      jobs = Array.new(2_500) { |number| Unique.new(number % 2_400) }
      ActiveJob.perform_all_later(jobs)
      keys = TrackedJob.order(:id).pluck(:unique_key) # else two transactions would wait for each other
      equal(keys.sort, keys)
      equal([2_400, 2_400, 2_400, 3], [Message.count, TrackedJob.count, jobs.count(&:successfully_enqueued?), inserts])
    RUBY
  end

  # As long as it is repeated it is not done; a dead letter is not, until it is replayed.
  def test_retries_and_dead_letters_keep_the_key
    assert_jobs(<<~'RUBY')
      class Flaky < Unique
        retry_on KeyError, wait: 0
        retry_on IOError, wait: 60
        discard_on(ThreadError)
        def perform(error) = (DONE << executions; executions < 2 && raise(Object.const_get(error)))
      end
      %w[KeyError IOError ThreadError RuntimeError].each { |name| Flaky.perform_later(name) }
      one = topic
      perform_stored(one)
      equal([[1, 1, 1, 1, 2]], [done])
      equal([true, true, false, false], [*one.produced, {headers: {}}, {headers: {}}].map { |message| message[:headers].key?("tracked_job") })
      equal(2, TrackedJob.count) # KeyError, IOError; the retry of RuntimeError is the topic's own
      one.produced.each { |message| one.deliver(Guildhall::Kafka::Testing.message(message[:payload], headers: message[:headers])) }
      equal([[2, 2], 0], [done, TrackedJob.count])
      class Bad < Unique
        def perform = (DONE << :tried; File.exist?(CURED) || raise("bad"))
      end
      CURED = File.join(FOLDER, "cured")
      Bad.perform_later
      perform_stored(one)
      equal([1, 1, false], [one.dead_letters.size, TrackedJob.count, Bad.perform_later])
      File.write(CURED, "")
      letter = one.dead_letters.first
      one.deliver(Guildhall::Kafka::Testing.message(letter[:payload], headers: letter[:headers]))
      equal(0, TrackedJob.count)
    RUBY
  end

  def test_a_key_that_has_expired_is_free
    assert_jobs(<<~'RUBY')
      Guildhall::Kafka.routes { delay_topics 60, prefix: "later" }
      first = Unique.perform_later("a")
      later = Unique.set(wait: 3600).perform_later("b") # counted from when it is due
      old = TrackedJob.find_by(job_id: first.job_id)
      equal([true, true], [(old.expires_at - Time.now).between?(500, 600), (TrackedJob.find_by(job_id: later.job_id).expires_at - Time.now).between?(4100, 4200)])
      old.update_columns(expires_at: Time.now - 1)
      equal([true, false], Array.new(2) { Unique.perform_later("a") != false })
      equal([nil, [first.job_id]], [old.reload.unique_key, TrackedJob.expired.pluck(:job_id)])
      # when the first one is done at last, the second one keeps its key
      TrackedJob.finish(first.job_id, nil)
      equal([0, false], [TrackedJob.expired.count, Unique.perform_later("a")])
    RUBY
  end

  private

  def assert_jobs(code) = assert_equal("", assert_ruby("load #{PROGRAM.dump}\n#{UNIQUE}\n#{code}", options: ["-W0"]))
end
