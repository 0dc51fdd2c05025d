# frozen_string_literal: true

# What payloads cost that cannot be parsed: 1, 10 and 50 % of 500, each a Failure in its place. The talk: about 6 %.

require_relative "support"

Bench.script("errors") do |bench|
  good = Talk.texts(5_000, 500)
  pool = Guildhall::Pool.new
  [1, 10, 50].each do |percent|
    bad = good.each_with_index.map { |text, index| index % 100 < percent ? text[0...-10].freeze : text }.freeze
    raise "wrong results" unless pool.results(bad, Talk::HASHES).grep(Guildhall::Failure).size == 5 * percent

    bench.compare("errors.#{percent} %", -> { pool.results(bad, Talk::HASHES) }, {"no errors" => -> { pool.results(good, Talk::HASHES) }}, talk: "0.94") { true }
  end
ensure
  pool&.shutdown
end
