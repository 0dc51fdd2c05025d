# frozen_string_literal: true

require "test_helper"
require "support/recorded_cluster"
require "rack/lint"
require "rack/mock_request"

# The page of a queue: what waits for its time in delay topics. On a real broker: test/integration/scenarios/job_queues.rb.
class WebJobsTest < GuildhallTest
  # As the dashboard knows it, without Active Job.
  class Performer < Guildhall::Kafka::Consumer
    def self.to_s = "Guildhall::Kafka::ActiveJob::Consumer"
    def consume = nil
  end
  JOB = {"job_class" => "MailJob", "executions" => 2, "arguments" => ["ada", 7], "exception_executions" => {"[Net::ReadTimeout, IOError]" => 2}}.freeze

  # committed: of each delay topic with messages; jobs: topic, due time and payload of each that waits; searches: what was asked.
  class Cluster < RecordedCluster
    attr_accessor :committed, :jobs
    attr_reader :searches

    def lag(*)
      rows = committed.map do |topic, offset|
        Guildhall::Kafka::Broker::LagWatch::Row.new(group: "shop", topic:, partition: 0, committed: offset, end_offset: 40, messages: 10, seconds: 1.0, rate_in: nil, rate_out: nil)
      end
      Guildhall::Kafka::Broker::Answer.new(rows, [])
    end

    def search(topic, **options)
      (@searches ||= []) << [topic, *options.values_at(:from, :headers)]
      found = jobs.select { |name, *| name == topic }.each_with_index.map do |(_, due, payload), offset|
        PlainRecord.new(topic:, partition: 0, offset:, timestamp_ms: 1_700_000_000_000, key: nil, raw_payload: payload, headers: {"delay_until" => (due * 1000).to_s, "delay_topic" => "orders"})
      end
      Looking.new(found)
    end
  end

  def setup
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    application.routes.draw do
      topic("orders") { consumer Performer }
      delay_topics 5, 60, prefix: "later"
    end
    @cluster = cluster = Cluster.new(application.validate!)
    @cluster.committed = {"later.5" => nil, "later.60" => 30}
    @cluster.jobs = []
    @allowed = allowed = %i[read payload]
    @web = Guildhall::Web.new(application:, authorize: ->(_request, action, _target) { allowed.include?(action) })
    @web.define_singleton_method(:cluster) { cluster }
  end

  def get(path)
    response = Rack::MockRequest.new(Rack::Lint.new(@web)).get(path)
    assert_equal 200, response.status, response.body
    response.body
  end

  def later = JSON.parse(get("/jobs/orders?format=json")).fetch("later")

  def test_jobs_for_later_by_the_time_that_they_are_due
    @cluster.jobs = [["later.60", 1_700_000_100, JSON.generate(JOB)], ["later.5", 1_700_000_050, JSON.generate(JOB.except("exception_executions"))], ["later.60", 1_700_000_075, "\x00"]]
    assert_equal [["later.5", "MailJob", "2023-11-14T22:14:10.000Z", 2, nil], ["later.60", "not a job, or encrypted", "2023-11-14T22:14:35.000Z", 0, nil],
                  ["later.60", "MailJob", "2023-11-14T22:15:00.000Z", 2, "Net::ReadTimeout, IOError: 2"]],
      later.map { |job| job.values_at("topic", "class", "due", "executions", "failures") }
    header = {"delay_topic" => "orders"}
    assert_equal [["later.5", {0 => 0}, header], ["later.60", {0 => 30}, header]], @cluster.searches.select { |topic, *| topic.start_with?("later") }
    body = get("/jobs/orders")
    assert_includes body, "For later"
    assert_includes body, "Net::ReadTimeout, IOError: 2"
  end

  def test_who_may_not_see_payloads_sees_none
    @cluster.jobs = [["later.60", 1_700_000_100, JSON.generate(JOB)]]
    @allowed.delete(:payload)
    assert_empty later
    assert_nil @cluster.searches
    refute_includes get("/jobs/orders"), "MailJob"
  end

  def test_nothing_waits
    @cluster.committed = {}
    assert_empty later
    assert_nil @cluster.searches
    refute_includes get("/jobs/orders"), "For later"
  end
end
