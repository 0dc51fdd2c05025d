# frozen_string_literal: true

require "json"
require_relative "topics"

# Topics of jobs, as Active Job writes them.
class JobTopics < Topics
  private

  def prefix = "guildhall-bench-jobs"

  def payload(_bytes, index)
    JSON.generate("job_class" => "BenchJob", "job_id" => "00000000-0000-4000-8000-#{index.to_s.rjust(12, "0")}", "provider_job_id" => nil,
      "queue_name" => "jobs", "priority" => nil, "arguments" => [index], "executions" => 0, "exception_executions" => {}, "locale" => "en",
      "timezone" => "UTC", "enqueued_at" => "2026-01-01T00:00:00.000000000Z", "scheduled_at" => nil)
  end
end
