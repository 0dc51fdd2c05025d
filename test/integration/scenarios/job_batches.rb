# frozen_string_literal: true

# broker: real (the dashboard asks for topics, which the embedded one does not describe)
#
# Proves what is seen of a batch of jobs while one of them is a dead letter: the metric, the dashboard's page of jobs, and the batch's own, with a
# link to that dead letter; and that the batch finishes once that job is sent back, and none of them shows it any more.
require "active_job"
require "active_support/all"
require "tmpdir"
require_relative "../../support/generated_migrations"
require "guildhall/kafka/active_job"
require "guildhall/web"
require "rack/mock_request"
require_relative "../support/scenario"

Scenario.run do
  folder = Dir.mktmpdir
  ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: File.join(folder, "jobs.sqlite3"), timeout: 60_000, pool: 20)
  GeneratedMigrations.run("outbox", "jobs")
  jobs = topic(name: "jobs", partitions: 2)
  dead = topic(name: "dead")
  seen = Thread::Queue.new
  repaired = false
  ActiveJob::Base.queue_adapter = :guildhall
  ActiveJob::Base.logger = Logger.new(nil)
  job_class = Class.new(ActiveJob::Base) do
    def self.name = "ImportJob"
    queue_as jobs
    define_method(:perform) do |part|
      raise KeyError, "no part #{part}" if part == 2 && !repaired

      seen << part
    end
  end
  Object.const_set(:ImportJob, job_class)
  measured = Thread::Queue.new
  backend = Object.new
  backend.define_singleton_method(:record) { |metric, value, _| metric.name.start_with?("batches.") && measured << [metric.name, value] }
  configure(commit_interval: 0.2, pause_timeout: 0.05, outbox: true, metrics: [backend])
  routes do
    active_job_topic(jobs) { dead_letter_queue topic: dead, max_retries: 1 }
    delay_topics false
  end
  batches = Guildhall::Kafka::ActiveJob::Batch
  batch = batches.enqueue([1, 2, 3].map { |part| ImportJob.new(part) }, on_finish: ImportJob.new("all"))
  start
  equal([1, 3], Array.new(2) { seen.pop(timeout: 60) }.sort, "performed")
  eventually("two are done") { batch.reload.pending == 1 }
  eventually("a dead letter") { Guildhall::Kafka.each_message(dead).count == 1 }
  gauges = -> { Array.new(measured.size) { measured.pop }.last(3).to_h }
  eventually("measured") { gauges.call.values_at("batches.open", "batches.jobs") == [1, 1] }

  web = Guildhall::Web.new(authorize: ->(*) { true })
  get = ->(path) { Rack::MockRequest.new(web).get(path).tap { |response| equal(200, response.status, "#{path}: #{response.body}") }.body }
  json = ->(path) { JSON.parse(get.call("#{path}?format=json")) }
  equal([[batch.id, 3, 2]], json.call("/jobs")["batches"].map { |one| one.values_at("id", "size", "done") }, "open batches")
  page = "/jobs/batches/#{batch.id}"
  check(get.call("/jobs").include?(%(href="#{page}")), "no link to the batch")
  found = json.call(page)
  equal([[1, 1], ["ImportJob"]], [[found["failed"], found["jobs"].size], found["jobs"].map { |one| one["class"] }], "what is not done")
  equal([dead, 0, 0, "KeyError"], found["jobs"].first["letter"].values_at("topic", "partition", "offset", "error"), "its dead letter")
  check(get.call(get.call(page)[%r{href="(/topics/#{dead}/0/0)"}, 1]).include?("ImportJob"), "the dead letter's page")

  repaired = true
  letter = Guildhall::Kafka.each_message(dead).first
  Guildhall::Kafka.producer.produce_sync(topic: jobs, payload: letter.raw_payload, headers: letter.headers.slice("tracked_job"))
  equal([2, "all"], Array.new(2) { seen.pop(timeout: 60) }, "sent back")
  eventually("no batch is open") { json.call("/jobs")["batches"].empty? }
  check(get.call(page).include?("No open batch has this number"), "the page of a finished one")
  eventually("measured again") { gauges.call == {"batches.open" => 0, "batches.jobs" => 0, "batches.seconds" => 0.0} }
  web.close
ensure
  FileUtils.rm_rf(folder) if folder
end
