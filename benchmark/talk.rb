# frozen_string_literal: true

# The tables of the talk that gave the pattern its name: bin/bench talk [TABLE…] [--quick] runs them one after the other, without YJIT and with it, and
# writes benchmark/results/talk.html and a chart a table. Each is also a benchmark of its own: bin/bench patterns. Those whose names begin with kafka
# need a real broker.

require_relative "support/suite"
require_relative "support/page"
require_relative "support/usage"

tables = Dir[File.join(__dir__, "talk/*.rb")].map { |path| File.basename(path, ".rb") } - %w[support kafka_tables]
chosen, options = Bench::Usage.parse(ARGV, "table", tables, ["--quick"])
chosen = tables.reject { |table| table.start_with?("kafka") && ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "").empty? } if chosen.empty?
suite = Bench::Suite.new(chosen, options)
suite.run
taken = Bench::Results.all.select { |one| tables.include?(one.name) }
puts Bench::Page.new(taken, title: "The talk's tables on this machine",
  remark: "The column \"the talk\" has the talk's figure where it was published; its machine had more cores. Where a claim does not hold here, the row " \
          "says so with its figure: a ratio below 1 is slower.").write(File.join(Bench::Results::FOLDER, "talk.html"))
exit(suite.failed.empty?)
