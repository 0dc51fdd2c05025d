# frozen_string_literal: true

# bin/bench NAME [--quick] [--json] [--only ROW,…]: runs benchmark/NAME.rb. Each script checks its results, then times ours and the
# others in turn within one run, and prints ratios. --chart draws the picture of the README from rows that --json has printed.

names = Dir[File.join(__dir__, "*.rb")].map { |path| File.basename(path, ".rb") } - ["run"]
name, *rest = ARGV
if name == "--report"
  require_relative "support/report"
  exit(Bench::Report.new(names).write(rest))
elsif name == "--chart" && rest.any?
  require "json"
  require_relative "support/chart"
  puts Bench::Chart.new(rest.flat_map { |path| File.readlines(path, encoding: "UTF-8").map { |line| JSON.parse(line) } }).write || abort("bin/bench: none of the chart's rows is in there")
elsif names.include?(name) && rest.intersect?(["--help", "-h"])
  header = File.foreach(File.join(__dir__, "#{name}.rb"), encoding: "UTF-8").drop(1).drop_while { |line| line == "\n" }
  puts "usage: bin/bench #{name} [--quick] [--json] [--only ROW,…]", ""
  puts header.take_while { |line| line.start_with?("# ") }.map { |line| line.delete_prefix("# ") }
elsif names.include?(name)
  ARGV.replace(rest)
  load File.join(__dir__, "#{name}.rb")
else
  puts "usage: bin/bench NAME [--quick] [--json] [--only ROW,…]   one of: #{names.sort.join(", ")}"
  puts "       bin/bench --report [--quick]                       all of them, into benchmark/RESULTS.md"
  puts "       bin/bench --chart FILE…                            draws docs/images/figures.svg from what --json has printed"
  exit(name.nil? || ["--help", "-h"].include?(name) ? 0 : 2)
end
