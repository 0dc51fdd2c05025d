# frozen_string_literal: true

# The best of 5 and 10 threads, against one thread and against workers: payloads of 1.7, 6, 64 and 163 KB.

require_relative "kafka_tables"

KafkaTables.script("kafka_best") do |tables|
  [1.7, 6, 64, 163].each do |kilobytes|
    next unless tables.bench.wanted?("kafka_best.#{kilobytes} KB")

    inline = [5, 10, 1].to_h { |count| [:"threads_#{count}", tables.ours("hash", "PARALLEL" => false, "CONCURRENCY" => count)] }
    race = tables.race(kilobytes, {**inline, workers: tables.ours("hash", "PARALLEL" => true), documents: tables.ours("document")})
    best = %i[threads_5 threads_10].max_by { |way| race.figure(way) }
    {best => "best of 5 and 10 threads", workers: "workers, Hashes", documents: "Documents"}.each do |way, name|
      tables.bench.row("kafka_best.#{kilobytes} KB, #{name}", against: "one thread", ratio: race.ratio(way, :threads_1), note: race.to_s)
    end
  end
end
