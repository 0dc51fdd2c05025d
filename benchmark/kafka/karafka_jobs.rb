# frozen_string_literal: true

# A contender: karafka_jobs.rb SERVERS TOPIC COUNT MODE, with CONCURRENCY in the environment. MODE: empty or io.
ENV["KARAFKA_ENV"] = "production"
require "karafka"
require_relative "bench_job"
require "active_job/karafka"
require_relative "settings"

SERVERS, NAME, = ARGV

class App < Karafka::App
  setup do |config|
    config.kafka = SETTINGS.merge("bootstrap.servers": SERVERS)
    config.client_id = "bench"
    config.group_id = "bench-karafka-jobs-#{Process.pid}"
    config.concurrency = Integer(ENV.fetch("CONCURRENCY"))
    config.max_messages = 500
    config.max_wait_time = 1_000
    config.logger = Logger.new(File::NULL)
  end
  routes.draw { active_job_topic NAME }
end

Karafka.monitor.subscribe("error.occurred") { |event| warn(event[:error].full_message) }
Thread.new { Karafka::Server.run }
BenchJob::STOPWATCH.report
exit!(0)
