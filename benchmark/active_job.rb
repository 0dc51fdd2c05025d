# frozen_string_literal: true

# Active Job on a real broker: jobs performed a second, against Karafka's adapter, from the first job to 90 % of them. Five partitions, jobs
# with keys; empty jobs, and jobs that wait for a millisecond. Each contender runs in a process of its own, in turn; both have to have
# performed the same jobs.
require_relative "support/bench"
require_relative "kafka/job_topics"
require_relative "kafka/race"

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
abort("bin/bench active_job: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?

COUNTS = {"empty" => [100_000, 10_000], "io" => [20_000, 2_000]}.freeze # jobs, jobs with --quick
THREADS = [1, 5].freeze

Bench.script("active_job") do |bench|
  topics = JobTopics.new(servers)
  COUNTS.each do |mode, counts|
    THREADS.each do |threads|
      next unless bench.wanted?(name = "active_job.#{mode}.#{threads}")

      count = counts[bench.quick? ? 1 : 0]
      contender = ->(script) { Contender.new(script, mode, {"CONCURRENCY" => threads}) }
      race = Race.new({guildhall: contender.call("guildhall_jobs.rb"), karafka: contender.call("karafka_jobs.rb")}, servers, topics.filled(500, count), count)
      result = race.run(bench.quick? ? 1 : 3)
      bench.note("#{name}: #{result}")
      bench.row(name, against: "Karafka's adapter", ratio: result.ratio(:guildhall, :karafka), goal: 1.0)
    end
  end
end
