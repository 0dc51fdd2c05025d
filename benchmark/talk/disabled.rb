# frozen_string_literal: true

# What a batch costs more when workers are switched off: 100 payloads of 0.5 KB with workers: 0, against a plain loop. The talk: 17 + 39 + 0 ns.

require_relative "support"

Bench.script("disabled") do |bench|
  texts = Talk.texts(500, 100)
  pool = Guildhall::Pool.new(workers: 0)
  raise "wrong results" unless pool.map(texts, Talk::LAZY) == texts.map { |text| Talk::LAZY.call(text) }

  pairs = Array.new(bench.rounds * 5) do
    [Talk.seconds { 200.times { texts.map { |text| Talk::LAZY.call(text) } } }, Talk.seconds { 200.times { pool.map(texts, Talk::LAZY) } }]
  end
  nanoseconds = Bench.median(pairs.map { |plain, ours| (ours - plain) / 200 }) * 1e9
  bench.row("disabled.a batch", against: "56 ns", ratio: nanoseconds <= 0 ? 10 : [56 / nanoseconds, 10].min, note: format("%+.0f ns", nanoseconds), talk: "56 ns")
end
