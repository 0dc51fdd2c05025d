# frozen_string_literal: true

# Workers (1, 2, 4) by runners (concurrency 1, 5, 10), payloads of 25 KB: against one worker and one runner.

require_relative "kafka_tables"

KafkaTables.script("kafka_contention") do |tables|
  [1, 2, 4].product([1, 5, 10]).drop(1).each do |workers, runners|
    name = "kafka_contention.#{workers} workers, concurrency #{runners}"
    next unless tables.bench.wanted?(name)

    race = tables.race(25, {more: tables.ours("hash", "PARALLEL" => true, "WORKERS" => workers, "CONCURRENCY" => runners),
                            one: tables.ours("hash", "PARALLEL" => true, "WORKERS" => 1, "CONCURRENCY" => 1)})
    tables.bench.row(name, against: "1 worker, concurrency 1", ratio: race.ratio(:more, :one), note: race.to_s)
  end
end
