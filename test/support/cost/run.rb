# frozen_string_literal: true

# Runs rows, prints one line for each that has a fault, then how many rows there were. To be run where work_count is
# preloaded. Arguments: the counter's path, and as JSON which rows: files, modules in them, `only` those whose name matches, `factor` times
# their units; `all`: a line for each row, also where nothing is wrong; `seed` and `rounds` of random rows.
require "bigdecimal"
require "json"
require "guildhall/codecs"
require "guildhall/schema"
require ARGV.shift
require_relative "row"

options = JSON.parse(ARGV.shift)
options.fetch("files").each { |file| require_relative file }
random = options.slice("seed", "rounds").transform_keys(&:to_sym)
rows = options.fetch("modules").flat_map { |name| Cost.const_get(name).rows(**random) }
rows = rows.select { |row| row.name.match?(options["only"]) } if options["only"]
$stdout.sync = true
rows.each do |row|
  $stderr.puts(row.name) if options["trace"]
  # Where memory is doubled and indexes are made, steps come at certain sizes, and tables of few keys have lucky and unlucky seeds: what
  # really grows faster does so at each size.
  samples = fault = nil
  [1, 2.5, 6.25, 1.6, 4].each do |larger|
    samples = row.samples((row.units * options.fetch("factor") * larger).to_i) or break
    fault = Cost::Rule.fault(samples) or break
  end
  next puts(JSON.generate(row: row.name)) unless samples # it does not apply

  puts JSON.generate(row: row.name, fault:, counts: Cost::Rule.table(samples)) if fault || options["all"]
rescue Guildhall::Schema::LimitError, SystemStackError
  puts JSON.generate(row: row.name) # refused: that is a limit, too
rescue StandardError => error
  puts JSON.generate(row: row.name, fault: "raises #{error.class}: #{error.message[0, 200]} #{error.backtrace&.first(3)}", counts: "")
end
puts JSON.generate(rows: rows.size)
