# frozen_string_literal: true

require "json"
require_relative "machine"
require_relative "comparison"
require_relative "usage"

# What the scripts under benchmark/ have in common: checked results, interleaved rounds, ratios, one table.
#
#     Bench.script("queue") do |bench|
#       bench.compare("queue.1p1c", -> { ours }, {"Ractor::Port" => -> { theirs }}, goals: {"Ractor::Port" => 2.5})
#       bench.row("queue.idle", against: "budget", ratio: 5.0, goal: 1.0)
#     end
class Bench
  # @param title [String]
  # @yieldparam bench [Bench]
  def self.script(title, arguments = ARGV)
    only = arguments.slice!(arguments.index("--only"), 2)[1].to_s.split(",") if arguments.include?("--only")
    Usage.refuse("#{title}: --only needs names of rows") if only == []
    bench = new(quick: arguments.delete("--quick"), json: arguments.delete("--json"), only:)
    Usage.refuse("#{title}: unknown #{arguments.join(" ")}; there are --quick, --json and --only ROW,…") unless arguments.empty?
    bench.begin_table(title)
    yield bench
    Usage.refuse("#{title}: no row #{only.join(", ")}; without --only it prints them all") if only && bench.empty?
  end

  # @param only [Array<String>, nil] names of rows, or how they begin, or patterns such as "kafka.*.5KB"; nil: all rows
  def initialize(quick: nil, json: nil, only: nil, out: $stdout)
    @quick = !quick.nil?
    @json = json
    @only = only
    @out = out
    @out.sync = true
    @began = now
    @count = 0
  end

  # @return [Boolean] whether no row was printed
  def empty? = @count.zero?

  # @return [Boolean] fewer rounds, the same rows
  def quick? = @quick

  # @param name [String] a row's, or how several rows' names begin
  # @return [Boolean] whether it is to be measured: a script that asks spares itself the time
  def wanted?(name)
    @only.nil? || @only.any? do |wanted|
      File.fnmatch?(wanted, name) || name.start_with?("#{wanted}.", "#{wanted},") || wanted.start_with?("#{name}.", "#{name} ")
    end
  end

  QUICK_SECONDS = 25 # after that a quick run measures what is left once, so that it ends within 45 s

  # @return [Integer] how many rounds to take a median of
  def rounds
    return 9 unless quick?

    now - @began < QUICK_SECONDS ? 3 : 1
  end

  def begin_table(title)
    return if @json

    @out.puts("#{title}: #{Machine.description}#{"; #{Machine.ceiling}" unless quick?}", "")
    @out.puts("#{" " * 45}#{"against".ljust(26)} #{"ratio".rjust(8)} #{"goal".rjust(6)}")
  end

  # Times `ours` and every peer in turn, `rounds` times, and prints a row a peer: how many times faster ours is (the
  # median of the rounds' own ratios). The first calls are not counted; what they return has to be equal, or to satisfy
  # the block.
  # @param name [String] such as "queue.1p1c"
  # @param ours [#call]
  # @param peers [Hash{String=>#call}]
  # @param goals [Hash{String=>Numeric}] by peer; none: no goal
  # @param any [Boolean] whether it is enough to meet one of the goals: the others are not judged then
  # @yieldparam results [Array] of ours and the peers; returns whether they are right
  # @return [Hash{String=>Float}] the ratios
  def compare(name, ours, peers, goals: {}, any: false, rounds: self.rounds, talk: nil, &check)
    return {} unless wanted?(name)

    comparison = Comparison.new([ours, *peers.values], warm_up: quick? ? 0.05 : 0.2)
    comparison.check(name, &check)
    ratios = peers.keys.zip(comparison.ratios(quick? ? [rounds, self.rounds].min : rounds)).to_h
    met = goals.select { |peer, goal| ratios[peer] >= goal }
    goals = met if any && met.any?
    ratios.each { |peer, ratio| row(name, against: peer, ratio:, goal: goals[peer], talk:) }
  end

  # Prints a row. The ratio is always such that higher is better.
  # @param talk [String, nil] what the talk measured that gave the pattern its name, on its machine
  def row(name, against:, ratio:, goal: nil, note: nil, talk: nil)
    return unless wanted?(name)

    @count += 1
    ratio = ratio.to_f.round(3)
    return @out.puts(JSON.generate({row: name, against:, ratio:, goal:, met: goal && ratio >= goal, note:, talk:}.compact)) if @json

    verdict = goal ? (ratio >= goal ? "✓" : "✗") : " "
    @out.puts(format("%-44s %-26s %8.2f %6s %s %s", name, against, ratio, goal, verdict, [note, (if talk
                                                                                                   "(talk: #{talk})"
                                                                                                 end)].compact.join(" ")).rstrip)
  end

  # A line for people; nothing with --json.
  def note(text)
    @out.puts(text) unless @json
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
