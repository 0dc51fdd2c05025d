# frozen_string_literal: true

# Runner threads (concurrency 1, 2, 4, 8) with payloads of 25 KB, decoded in the runner and on the pool; against one runner that decodes for itself.

require_relative "kafka_tables"

KafkaTables.script("kafka_threads") do |tables|
  [1, 2, 4, 8].each do |count|
    next unless tables.bench.wanted?("kafka_threads.#{count}")

    race = tables.race(25, {inline: tables.ours("hash", "PARALLEL" => false, "CONCURRENCY" => count), pooled: tables.ours("hash", "PARALLEL" => true, "CONCURRENCY" => count),
                            one: tables.ours("hash", "PARALLEL" => false, "CONCURRENCY" => 1)})
    {inline: "in the runner", pooled: "on the pool"}.each do |way, name|
      tables.bench.row("kafka_threads.#{count}, #{name}", against: "one runner", ratio: race.ratio(way, :one), note: race.to_s)
    end
  end
end
