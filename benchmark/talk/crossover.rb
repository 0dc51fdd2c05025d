# frozen_string_literal: true

# The decision table: from which batch size workers pay, by size of payload, with the advisor of this machine. The talk: 25 messages of 18 KB, 50 of
# 5 KB, 100 of 0.5 KB. Higher is better: half as many messages are enough.

require_relative "support"
require "guildhall/advisor"

TALK = {18_000 => 25, 5_000 => 50, 500 => 100}.freeze

Bench.script("crossover") do |bench|
  settings = bench.quick? ? {rounds: 3, batches: [5, 25, 50, 100, 500]} : {}
  TALK.each do |bytes, talk|
    {"Hashes" => Talk::HASHES, "validated" => Talk::Valid}.each do |name, task|
      next unless bench.wanted?("crossover.#{bytes / 1000.0} KB, #{name}")

      advice = Guildhall::Advisor.new(task, Talk.texts(bytes, 500), **settings).advise
      cells = advice.cells.select { |cell| cell.variant == :given && cell.workers == advice.cells.map(&:workers).max }
      from = Guildhall::Advisor::Choice.first(cells)&.batch
      bench.row("crossover.#{bytes / 1000.0} KB, #{name}", against: "the talk's #{talk} messages", ratio: from ? talk.fdiv(from) : 0,
        note: "#{from ? "from #{from} messages" : "never"}; at most #{cells.map(&:gain).max.round(2)} ×", talk: talk.to_s)
    end
  end
end
