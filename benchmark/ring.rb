# frozen_string_literal: true

# A ring of N Ractors, each passing what it gets to the next, M times around: nothing but waking one that sleeps. Beside a
# ring of Ports where Ruby has them; each in a process of its own, so that memory and native threads are its own.

require "json"
require "open3"
require "rbconfig"
require_relative "support/bench"

module Ring
  PRELUDE = <<~'RUBY'
    require "json"
    Warning[:experimental] = false
    SIZE, PASSES = ARGV.map { |argument| Integer(argument) }
    TAKE = Ractor.method_defined?(:value) ? :value : :take
    def self.report(began, passed)
      seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
      resident = File.read("/proc/self/status")[/VmRSS:\s*(\d+)/, 1].to_i
      puts JSON.generate({seconds:, passed:, natives: Dir.children("/proc/self/task").size, kilobytes: resident})
      $stdout.flush
      exit!(0)
    end
  RUBY
  QUEUES = PRELUDE + <<~'RUBY'
    require "guildhall/queue"
    queues = Ractor.make_shareable(Array.new(SIZE + 1) { Guildhall::Queue.new(1) })
    SIZE.times { |n| Ractor.new(queues[n], queues[n + 1]) { |from, to| while (item = from.pop) do to.push(item + 1) end } }
    sleep(0.01) until queues.sum(&:num_waiting) == SIZE
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    passed = 0
    PASSES.times do
      queues[0].push(passed)
      passed = queues[SIZE].pop
    end
    report(began, passed)
  RUBY
  PORTS = PRELUDE + <<~'RUBY'
    home = Ractor::Port.new
    first = SIZE.times.inject(home) { |to, _| Ractor.new(to) { |port| while (item = Ractor.receive) do port.send(item + 1) end } }
    sleep(0.5)
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    passed = 0
    PASSES.times do
      first.send(passed)
      passed = home.receive
    end
    report(began, passed)
  RUBY

  def self.run(code, size, passes)
    out, err, status = Open3.capture3(RbConfig.ruby, "-e", code, size.to_s, passes.to_s)
    result = status.success? ? JSON.parse(out, symbolize_names: true) : {}
    abort("ring of #{size}: #{out}#{err}") unless result[:passed] == size * passes
    result
  end
end

Bench.script("ring") do |bench|
  cpus = Integer(ENV.fetch("RUBY_MAX_CPU", "8"))
  sizes = bench.quick? ? {10 => 2000, 1000 => 20, 10_000 => 5} : {10 => 20_000, 1000 => 200, 10_000 => 1000}
  sizes.select { |size, _| bench.wanted?("ring.#{size}") }.each do |size, passes|
    rounds = Array.new(bench.quick? || size * passes >= 10_000_000 ? 1 : 3) do
      [Ring.run(Ring::QUEUES, size, passes), (Ring.run(Ring::PORTS, size, passes) if defined?(Ractor::Port))]
    end
    ours = rounds.last.first
    hop = Bench.median(rounds.map { |queues, _| queues[:seconds] }) / (size * passes) * 1e6
    note = format("%.2f µs a pass, %d KB a Ractor", hop, ours[:kilobytes] / size)
    if defined?(Ractor::Port)
      bench.row("ring.#{size}", against: "ring of Ports", ratio: Bench.median(rounds.map { |queues, ports| ports[:seconds] / queues[:seconds] }),
        goal: size == 10_000 ? 0.5 : nil, note:)
    else
      bench.note("ring.#{size}: #{note}")
    end
    bench.row("ring.#{size}.native_threads", against: "2 × RUBY_MAX_CPU + 2", ratio: ((2.0 * cpus) + 2) / ours[:natives], goal: 1.0,
      note: "#{ours[:natives]} native threads")
  end
end
