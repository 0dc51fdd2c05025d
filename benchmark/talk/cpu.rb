# frozen_string_literal: true

# Wall time against all the CPU time that was used for it, 200 payloads of 19 KB: what the speed costs.

require_relative "support"

Bench.script("cpu") do |bench|
  texts = Talk.texts(19_000, 200)
  pool = Guildhall::Pool.new
  patterns = Talk::PATTERNS.transform_values { |pattern| pattern.new(Talk.workers) }
  ways = {"one thread" => -> { texts.map { |text| JSON.parse(text) } }, **patterns.transform_values { |one| -> { one.map(texts) } },
          "Guildhall, Hashes" => -> { pool.map(texts, Talk::HASHES) }, "Guildhall, Documents" => -> { pool.map(texts, Talk::LAZY) }}
  raise "wrong results" unless ways.values.map(&:call).uniq.size == 1

  clock = -> { [PoolPeers.now, Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)] }
  used = ways.transform_values do |way|
    times = Array.new(bench.rounds) do
      GC.start
      before = clock.call
      way.call
      clock.call.zip(before).map { |after, earlier| after - earlier }
    end
    times.transpose.map { |list| Bench.median(list) }
  end
  wall, cpu = used.delete("one thread")
  used.each do |name, (time, work)|
    bench.row("cpu.#{name}, wall", against: "one thread", ratio: wall / time, note: format("%.1f ms", time * 1000))
    bench.row("cpu.#{name}, CPU", against: "one thread", ratio: cpu / work, note: format("%.1f ms of CPU, %.1f in one thread", work * 1000, cpu * 1000))
  end
ensure
  pool&.shutdown
  patterns&.each_value(&:close)
end
