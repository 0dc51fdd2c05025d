# frozen_string_literal: true

# A contender: solid_queue_jobs.rb - - COUNT MODE, with CONCURRENCY in the environment, in a bundle of its own. MODE: empty or io.
# An application of Rails with nothing but Solid Queue, on SQLite; its jobs are there before its worker starts.
require "fileutils"
require "tmpdir"
require "rails"
require "active_record/railtie"
require "active_job/railtie"
require "solid_queue"

FOLDER = Dir.mktmpdir("solid-queue-")
ENV["DATABASE_URL"] = "sqlite3:#{File.join(FOLDER, "jobs.sqlite3")}?pool=20"

class App < Rails::Application
  config.root = FOLDER
  config.eager_load = true
  config.logger = Logger.new(File::NULL)
  config.secret_key_base = "x" * 64
end

App.initialize!
ActiveRecord::Migration.verbose = false
load File.join(Gem.loaded_specs.fetch("solid_queue").full_gem_path, "lib/generators/solid_queue/install/templates/db/queue_schema.rb")
require_relative "bench_job"
BenchJob.queue_adapter = :solid_queue
(1..Integer(ARGV[2])).each_slice(500) { |numbers| ActiveJob.perform_all_later(numbers.map { |number| BenchJob.new(number) }) }
worker = SolidQueue::Worker.new(queues: "*", threads: Integer(ENV.fetch("CONCURRENCY")), polling_interval: 0.1)
worker.mode = :async
worker.start
BenchJob::STOPWATCH.report
FileUtils.rm_rf(FOLDER)
exit!(0)
