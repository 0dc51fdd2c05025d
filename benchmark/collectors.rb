# frozen_string_literal: true

# What the collector costs: Documents, Hashes, plain Ruby and templates in one thread, on one worker and on two, as the pool chooses, and
# in two forked processes; collections, pauses of the main Ractor's other threads, peak of memory. On this Ruby, and in the same run on those
# that OTHER_RUBIES names (paths of programs, with colons between them), which `RUBY=… bin/setup` has set up before.

require_relative "support/bench"
require_relative "support/measured_process"
require_relative "support/median"
require_relative "../tool/environment"

# One row for each kind and way of each Ruby.
class CollectorsRows
  KINDS = ["documents", "Hashes, kept", "Hashes, used where decoded", "plain Ruby", "templates"].freeze
  WAYS = ["thread", "workers 1", "workers 2", "pool 2", "processes 2"].freeze
  WORK = File.join(__dir__, "support/collectors_work.rb")

  def initialize(bench)
    @bench = bench
    @rubies = [RbConfig.ruby, *ENV.fetch("OTHER_RUBIES", "").split(":")]
    @seconds = bench.quick? ? 0.6 : 1.5
    @rounds = bench.quick? ? 1 : 3
  end

  def run
    KINDS.each do |kind|
      next unless @bench.wanted?("collectors.#{kind}")

      measured = Array.new(@rounds) { once(kind) }
      @rubies.each { |ruby| WAYS.each { |way| row(kind, way, measured.map { |round| round[ruby] }) } }
    end
  end

  private

  # Rubies in turn, so that what else happens on the machine meets all of them.
  def once(kind)
    results = Hash.new { |all, ruby| all[ruby] = {} }
    WAYS.each { |way| @rubies.each { |ruby| results[ruby][way] = measure(ruby, kind, way) } }
    results
  end

  def measure(ruby, kind, way)
    Bench::MeasuredProcess.run(ruby, "-I#{File.join(__dir__, "../lib")}", "-I#{build_of(ruby)}", WORK, kind, way, @seconds.to_s,
      environment: {"RUBYOPT" => (@yjit ||= RubyVM::YJIT.enabled? ? "--yjit" : ""), "BUNDLER_SETUP" => nil})
  end

  def build_of(ruby)
    @builds ||= {}
    @builds[ruby] ||= IO.popen([{"RUBYOPT" => nil}, ruby, "--disable=gems", "-rrbconfig", "-r#{File.join(__dir__, "../tool/environment")}", "-e", "print Environment::LIBRARY"], &:read)
  end

  def row(kind, way, rounds)
    ratio = Bench.median(rounds.map { |ways| ways[way]["per_second"] / ways["thread"]["per_second"] })
    per_second, collections, pause, peak = %w[per_second collections pause peak_kb].map { |name| Bench.median(rounds.map { |ways| ways[way][name] }) }
    version = rounds.first[way]["ruby"][/\d+\.\d+\.\d+\w*/]
    note = format("%d a second, %.0f collections, %.1f ms at most, %d MB", per_second, collections, pause * 1000, peak / 1024)
    @bench.row("collectors.#{kind}, #{way}", against: "one thread of #{version}", ratio:, note:)
  end
end

Bench.script("collectors") { |bench| CollectorsRows.new(bench).run }
