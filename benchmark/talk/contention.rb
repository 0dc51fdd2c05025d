# frozen_string_literal: true

# Several threads use the same workers at once, with the main Ractor idle and with two threads that never stop: throughput, and how long a batch of
# 100 payloads of 5 KB takes. Guildhall beside the pattern as published.

require_relative "support"

Bench.script("contention") do |bench|
  texts = Talk.texts(5_000, 100)
  pool = Guildhall::Pool.new
  pattern = Patterns::ThreadCoordinated.new(Talk.workers)
  raise "wrong results" unless pool.map(texts, Talk::HASHES) == pattern.map(texts)

  [0, 2].product([1, 3, 5, 8]).each do |busy, callers|
    name = "contention.#{callers} caller#{"s" if callers > 1}#{", busy main threads" if busy.positive?}"
    next unless bench.wanted?(name)

    ours, theirs = [-> { pool.map(texts, Talk::HASHES) }, -> { pattern.map(texts) }].map do |way|
      PoolPeers.while_busy(busy) { Talk.callers(callers, bench.quick? ? 0.4 : 2, &way) }
    end
    bench.row(name, against: "thread-coordinated", ratio: ours.size.fdiv([theirs.size, 1].max), note: "batches")
    [0.5, 0.99].each do |part|
      mine, other = [ours, theirs].map { |times| Talk.percentile(times, part) * 1000 }
      bench.row("#{name}, p#{(part * 100).round}", against: "thread-coordinated", ratio: other / mine, note: format("%.1f ms, %.1f ms theirs", mine, other))
    end
  end
ensure
  pool&.shutdown
  pattern&.close
end
