# frozen_string_literal: true

# One to eight workers beside one to eight threads, JSON of 19 KB: times as fast as one. A machine cannot show more than it has cores.

require_relative "support"

Bench.script("scaling") do |bench|
  texts = Talk.texts(19_000, 200)
  expected = texts.map { |text| JSON.parse(text) }
  pools = (1..8).to_h { |count| [count, Guildhall::Pool.new(workers: count)] }
  [2, 3, 4, 5, 6, 7, 8].each do |count|
    {"Hashes" => Talk::HASHES, "Documents" => Talk::LAZY}.each do |kind, task|
      bench.compare("scaling.#{count} workers, #{kind}", -> { pools[count].map(texts, task, parallel: true) },
        {"1 worker" => -> { pools[1].map(texts, task, parallel: true) }}) { |results| results.all? { |result| result == expected } }
    end
    threads = -> { texts.each_slice((texts.size / count.to_f).ceil).map { |part| Thread.new { part.map { |text| JSON.parse(text) } } }.flat_map(&:value) }
    bench.compare("scaling.#{count} threads", threads, {"1 thread" => -> { texts.map { |text| JSON.parse(text) } }})
  end
ensure
  pools&.each_value(&:shutdown)
end
