# frozen_string_literal: true

# bin/bench NAME [--quick] [--json] [--only ROW,…]: runs benchmark/NAME.rb. Each script checks its results, then times ours and the
# others in turn within one run, and prints ratios.

require_relative "support/usage"

scripts = Dir[File.join(__dir__, "{,talk/}*.rb")].to_h { |path| [File.basename(path, ".rb"), path] }.except("run", "support", "kafka_tables")
names = scripts.keys
name, *rest = ARGV
if name == "--report"
  require_relative "support/report"
  chosen, options = Bench::Usage.parse(rest, "benchmark", names, ["--quick", "--page"])
  tables = names.select { |one| scripts.fetch(one).include?("/talk/") }
  servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
  all = names.reject { |one| %w[talk languages].include?(one) || (servers.empty? && one.match?(/\Akafka|\Akarafka|\Aactive_job/)) }
  wanted = chosen.empty? ? all : chosen.flat_map { |one| one == "talk" ? tables & all : [one] }
  exit(Bench::Report.new(options.delete("--page") ? [] : wanted).write(options))
elsif names.include?(name) && rest.intersect?(["--help", "-h"])
  header = File.foreach(scripts.fetch(name), encoding: "UTF-8").drop(1).drop_while { |line| line == "\n" }
  puts "usage: bin/bench #{name} [--quick] [--json] [--only ROW,…]", ""
  puts header.take_while { |line| line.start_with?("# ") }.map { |line| line.delete_prefix("# ") }
elsif names.include?(name)
  ARGV.replace(rest)
  load scripts.fetch(name)
elsif name.nil? || ["--help", "-h"].include?(name)
  puts "usage: bin/bench NAME [--quick] [--json] [--only ROW,…]   one of: #{names.sort.join(", ")}"
  puts "       bin/bench NAME --help                              what it measures"
  puts "       bin/bench talk [TABLE…] [--quick]                  the talk's tables, and a page of them"
  puts "       bin/bench --report [NAME…] [--quick]               all of them, or these, into benchmark/RESULTS.md, its page and the guides"
  puts "       bin/bench --report --page                          writes these of what was measured before"
else
  Bench::Usage.refuse("no benchmark #{name}#{Guildhall::Suggestion.for(name, names)}; bin/bench --help lists them")
end
