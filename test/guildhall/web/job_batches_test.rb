# frozen_string_literal: true

require "test_helper"

# What the dashboard shows of batches of jobs, on SQLite, in a process of its own. On a real broker: test/integration/scenarios/job_batches.rb.
class WebJobBatchesTest < GuildhallTest
  PROGRAM = File.expand_path("../../support/job_outbox_program.rb", __dir__)
  DASHBOARD = <<~'RUBY'
    $LOAD_PATH.unshift(File.join(WarningsRaise::ROOT, "test"))
    require "guildhall/web"
    require "rack/mock_request"
    require "support/recorded_cluster"
    Guildhall::Kafka.config.outbox = true
    Guildhall::Kafka.routes do
      active_job_topic("jobs") { dead_letter_queue topic: "dead" }
      delay_topics false
    end
    LETTERS = []
    SEARCHES = []
    STOPPED = []
    class Looking < RecordedCluster::Looking
      def run(&) = super.with(stopped_by: STOPPED.first)
    end
    # Its brokers are a stand-in; the database is asked as it is.
    class Cluster < Guildhall::Web::Cluster
      RECORDED = RecordedCluster.new
      def lag(*) = Guildhall::Kafka::Broker::Answer.new([], [])
      def reports(**) = RECORDED.reports
      def search(topic, **options)
        SEARCHES << [topic, options.fetch(:headers)]
        raise Guildhall::Kafka::UnknownTopicError.new(topic, []) if LETTERS.empty?

        Looking.new(LETTERS)
      end
    end
    CLUSTER = Cluster.new(Guildhall::Kafka.application)
    WEB = Guildhall::Web.new(authorize: ->(*) { true })
    WEB.define_singleton_method(:cluster) { CLUSTER }
    def get(path) = Rack::MockRequest.new(WEB).get(path).tap { |response| response.status == 200 || abort(response.body) }.body
    def json(path) = JSON.parse(get("#{path}?format=json"))
    def letter(offset, payload, error = "KeyError")
      PlainRecord.new(topic: "dead", partition: 1, offset:, timestamp_ms: 1_700_000_000_000, key: nil, raw_payload: payload, headers: {"source_error_class" => error})
    end
    def forget = CLUSTER.forget
  RUBY

  def test_what_is_open_and_what_has_failed
    assert_dashboard(<<~'RUBY')
      jobs = Array.new(3) { |number| Job.new(number) }
      batch = Batch.enqueue(jobs, on_finish: Job.new("last"))
      TrackedJob.finish(jobs[0].job_id, batch.id)
      page = "/jobs/batches/#{batch.id}"
      equal([[batch.id, 3, 1]], json("/jobs")["batches"].map { |one| one.values_at("id", "size", "done") })
      body = get("/jobs")
      equal([true, true], [body.include?("Open batches"), body.include?(%(href="#{page}"))])
      found = json(page)
      equal([0, jobs.drop(1).map { |job| [job.job_id, "Job", nil] }], [found["failed"], found["jobs"].map { |one| one.values_at("id", "class", "letter") }])
      equal([["dead", {"tracked_job" => batch.id.to_s}]], SEARCHES.uniq)

      # The last one, one that was replayed and is done, and what is not a job.
      LETTERS.push(letter(5, JSON.generate("job_id" => jobs[2].job_id)), letter(6, JSON.generate("job_id" => jobs[0].job_id)), letter(7, "\x00"), letter(8, "[1]"),
        letter(9, JSON.generate("job_id" => jobs[2].job_id), "<IOError>"))
      found = json(page)
      equal([1, [[jobs[2].job_id, [9, "<IOError>"]], [jobs[1].job_id, nil]]],
        [found["failed"], found["jobs"].map { |one| [one["id"], one["letter"]&.values_at("offset", "error")] }])
      body = get(page)
      equal([true, true, true, false], [body.include?(%(href="/topics/dead/1/9")), body.include?("&lt;IOError&gt;"), body.include?("1 of 3"), body.include?("at least")])
      STOPPED << :seconds
      equal([true, true], [json(page)["more"], get(page).include?("1 at least: not all dead letters could be read in time")])
    RUBY
  end

  def test_many_jobs
    assert_dashboard(<<~'RUBY')
      jobs = Array.new(150) { |number| Job.new(number) }
      batch = Batch.enqueue(jobs, on_finish: Job.new("last"))
      LETTERS << letter(1, JSON.generate("job_id" => jobs.last.job_id))
      found = json("/jobs/batches/#{batch.id}")
      equal([100, jobs.last.job_id, jobs.first(99).map(&:job_id)], [found["jobs"].size, found["jobs"].first["id"], found["jobs"].drop(1).map { |one| one["id"] }])
    RUBY
  end

  # A batch that has finished since; without batches, without an outbox, without tables, and with a database that is out of reach.
  def test_where_there_are_none
    assert_dashboard(<<~'RUBY')
      missing = lambda do
        forget
        body = get("/jobs")
        equal([[], false, true], [json("/jobs")["batches"], body.include?("Open batches"), body.include?("Queues")])
        equal(true, get("/jobs/batches/17").include?("No open batch has this number"))
      end
      missing.call
      get("/jobs/batches/seventeen")
      Batch.enqueue([Job.new(1)], on_finish: Job.new("last"))
      Guildhall::Kafka.config.outbox = false
      missing.call
      Guildhall::Kafka.config.outbox = true
      Batch.with_connection { |connection| connection.rename_table(Batch.table_name, :elsewhere) }
      missing.call
      Batch.singleton_class.prepend(Module.new { def fault = raise(ActiveRecord::ConnectionNotEstablished) })
      missing.call
    RUBY
  end

  private

  def assert_dashboard(code) = assert_equal("", assert_ruby("load #{PROGRAM.dump}\n#{DASHBOARD}\n#{code}", options: ["-W0"]))
end
