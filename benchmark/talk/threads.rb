# frozen_string_literal: true

# What threads do for CPU-bound work: parse and validate 5 KB in 1 to 10 threads, for longer, and beside two threads that never stop. The pool does
# the same.

require_relative "support"

Bench.script("threads") do |bench|
  texts = Talk.texts(5_000, 200)
  pool = Guildhall::Pool.new
  in_threads = ->(count) { texts.each_slice((texts.size / count.to_f).ceil).map { |part| Thread.new { part.map { |text| Talk::Valid.call(text) } } }.flat_map(&:value) }
  plain = -> { texts.map { |text| Talk::Valid.call(text) } }
  pooled = -> { pool.map(texts, Talk::VALID) }
  [2, 5, 10].each { |count| bench.compare("threads.#{count} threads", -> { in_threads.call(count) }, {"one thread" => plain}) }
  bench.compare("threads.pool", pooled, {"one thread" => plain})
  {"sustained" => 0, "contention" => 2}.each do |name, busy|
    next unless bench.wanted?("threads.#{name}")

    one, five, ours = [plain, -> { in_threads.call(5) }, pooled].map do |way|
      PoolPeers.while_busy(busy) { Talk.callers(1, bench.quick? ? 0.5 : 5, &way).size }
    end
    bench.row("threads.#{name}, 5 threads", against: "one thread", ratio: five.fdiv([one, 1].max))
    bench.row("threads.#{name}, pool", against: "one thread", ratio: ours.fdiv([one, 1].max))
  end
ensure
  pool&.shutdown
end
