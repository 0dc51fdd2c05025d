# frozen_string_literal: true

# Payloads of 0.5 to 78 KB, shuffled, parsed and validated: five threads, and pools of 1, 2, 5 and 8 workers, against one thread.

require_relative "support"

Bench.script("mixed") do |bench|
  texts = Talk::SIZES.values.flat_map { |bytes| Talk.texts(bytes, 400_000 / bytes.clamp(4000, 78_000)) }.shuffle(random: Random.new(1)).freeze
  plain = {"one thread" => -> { texts.map { |text| Talk::Valid.call(text) } }}
  in_threads = -> { texts.each_slice((texts.size / 5.0).ceil).map { |part| Thread.new { part.map { |text| Talk::Valid.call(text) } } }.flat_map(&:value) }
  bench.compare("mixed.5 threads", in_threads, plain)
  [1, 2, 5, 8].each do |count|
    Guildhall::Pool.open(workers: count) do |pool|
      bench.compare("mixed.#{count} worker#{"s" if count > 1}", -> { pool.map(texts, Talk::VALID) }, plain)
    end
  end
end
