# frozen_string_literal: true

# bin/bench NAME [--quick] [--json] [--only ROW,…]: runs benchmark/NAME.rb. Each script checks its results, then times ours and the
# others in turn within one run, and prints ratios. --chart draws the picture of the README from rows that --json has printed.

scripts = Dir[File.join(__dir__, "{,talk/}*.rb")].to_h { |path| [File.basename(path, ".rb"), path] }.except("run", "support", "kafka_tables")
names = scripts.keys
name, *rest = ARGV
if name == "--report"
  require_relative "support/report"
  chosen = rest.reject { |argument| argument.start_with?("--") }
  servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
  all = names.reject { |one| %w[talk languages].include?(one) || (servers.empty? && one.match?(/\Akafka|\Akarafka/)) }
  exit(Bench::Report.new(rest.delete("--page") ? [] : (chosen.any? ? chosen : all)).write(rest - chosen))
elsif name == "--chart" && rest.any?
  require "json"
  require_relative "support/chart"
  puts Bench::Chart.new(rest.flat_map { |path| File.readlines(path, encoding: "UTF-8").map { |line| JSON.parse(line) } }).write || abort("bin/bench: none of the chart's rows is in there")
elsif names.include?(name) && rest.intersect?(["--help", "-h"])
  header = File.foreach(scripts.fetch(name), encoding: "UTF-8").drop(1).drop_while { |line| line == "\n" }
  puts "usage: bin/bench #{name} [--quick] [--json] [--only ROW,…]", ""
  puts header.take_while { |line| line.start_with?("# ") }.map { |line| line.delete_prefix("# ") }
elsif names.include?(name)
  ARGV.replace(rest)
  load scripts.fetch(name)
else
  puts "usage: bin/bench NAME [--quick] [--json] [--only ROW,…]   one of: #{names.sort.join(", ")}"
  puts "       bin/bench talk [TABLE…] [--quick]                  the talk's tables, and a page of them"
  puts "       bin/bench --report [NAME…] [--quick]               all of them, or these, into benchmark/RESULTS.md and its page"
  puts "       bin/bench --report --page                          writes both of what was measured before"
  puts "       bin/bench --chart FILE…                            draws docs/images/figures.svg from what --json has printed"
  exit(name.nil? || ["--help", "-h"].include?(name) ? 0 : 2)
end
