# frozen_string_literal: true

# Active Job on a real broker: jobs performed a second, against Karafka's adapter, from the first job to 90 % of them. Five partitions, jobs
# with keys; empty jobs, and jobs that wait for a millisecond. Each contender runs in a process of its own, in turn; both have to have
# performed the same jobs. Beside them, to see the order of size, Solid Queue with SQLite performs a twentieth of the jobs.
require_relative "support/bench"
require_relative "support/own_bundle"
require_relative "kafka/job_topics"
require_relative "kafka/race"

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
abort("bin/bench active_job: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?

COUNTS = {"empty" => [100_000, 10_000], "io" => [20_000, 2_000]}.freeze # jobs, jobs with --quick
THREADS = [1, 5].freeze
SOLID_QUEUE = {"solid_queue" => "1.7.2", "sqlite3" => "2.10.2"}.freeze
SOLID_QUEUE_PART = 20 # of the jobs: it is so much slower that all of them would take minutes

Bench.script("active_job") do |bench|
  topics = JobTopics.new(servers)
  bundle = OwnBundle.new("solid_queue", SOLID_QUEUE)
  bench.note("without Solid Queue: its gems could not be installed") unless (solid_queue = bundle.install)
  COUNTS.each do |mode, counts|
    THREADS.each do |threads|
      next unless bench.wanted?(name = "active_job.#{mode}.#{threads}")

      count = counts[bench.quick? ? 1 : 0]
      ours, karafka = %w[guildhall_jobs.rb karafka_jobs.rb].map { |script| Contender.new(script, mode, {"CONCURRENCY" => threads}) }
      race = Race.new({guildhall: ours, karafka:}, servers, topics.filled(500, count), count)
      result = race.run(bench.quick? ? 1 : 3)
      bench.note("#{name}: #{result}")
      bench.row(name, against: "Karafka's adapter", ratio: result.ratio(:guildhall, :karafka), goal: 1.0)
      next unless solid_queue

      contender = Contender.new("solid_queue_jobs.rb", mode, {**bundle.environment, "CONCURRENCY" => threads})
      rate = contender.run("none", "none", count / SOLID_QUEUE_PART)["rate"]
      bench.row(name, against: "Solid Queue, SQLite", ratio: result.figure(:guildhall) / rate)
    end
  end
end
