# frozen_string_literal: true

# A contender: guildhall_jobs.rb SERVERS TOPIC COUNT MODE, with CONCURRENCY in the environment. MODE: empty or io.
require_relative "bench_job"
require "guildhall/kafka/active_job"
require_relative "settings"

servers, name, = ARGV
Guildhall::Kafka.configure do |config|
  config.kafka = SETTINGS.merge("bootstrap.servers": servers, "queued.max.messages.kbytes": 10_000)
  config.group_id = "bench-guildhall-jobs-#{Process.pid}"
  config.concurrency = Integer(ENV.fetch("CONCURRENCY"))
end
Guildhall::Kafka.instrumentation.subscribe("error.occurred") { |event| warn(event.payload[:error].full_message) }
Guildhall::Kafka.routes { active_job_topic name }
Thread.new { Guildhall::Kafka.run }
BenchJob::STOPWATCH.report
exit!(0)
