# frozen_string_literal: true

# bin/bench NAME [--quick] [--json] [--only ROW,…]: runs benchmark/NAME.rb. Each script checks its results, then times ours and the
# others in turn within one run, and prints ratios.

names = Dir[File.join(__dir__, "*.rb")].map { |path| File.basename(path, ".rb") } - ["run"]
name, *rest = ARGV
if name == "--report"
  require_relative "support/report"
  exit(Bench::Report.new(names).write(rest))
elsif names.include?(name)
  ARGV.replace(rest)
  load File.join(__dir__, "#{name}.rb")
else
  puts "usage: bin/bench NAME [--quick] [--json] [--only ROW,…]   one of: #{names.sort.join(", ")}"
  puts "       bin/bench --report [--quick]                       all of them, into benchmark/RESULTS.md"
  exit(name.nil? || ["--help", "-h"].include?(name) ? 0 : 2)
end
