# frozen_string_literal: true

require "json"
require "open3"
require "rbconfig"
require_relative "machine"
require_relative "chart"

class Bench
  # benchmark/RESULTS.md: every script's rows, each script in a process of its own; and the chart.
  class Report
    PATH = File.expand_path("../RESULTS.md", __dir__)

    # @param names [Array<String>] of the scripts
    def initialize(names)
      @names = names.sort
    end

    # @param arguments [Array<String>] handed to each script
    # @return [Integer] exit status
    def write(arguments)
      measured = @names.to_h { |name| [name, rows_of(name, arguments)] }
      File.write(PATH, [header, *measured.map { |name, rows| section(name, rows) }].join("\n"))
      puts PATH, Chart.new(measured.values.compact.flatten).write
      0
    end

    private

    def header
      <<~TEXT
        # Results

        #{Machine.description}. Written by `bin/bench --report`: ratios of one run, higher is better.

        ![The rows that people ask for first](../docs/images/figures.svg)
      TEXT
    end

    # @return [Array<Hash>, nil] nil: the script has failed
    def rows_of(name, arguments)
      warn("  #{name} …")
      out, status = Open3.capture2(RbConfig.ruby, File.expand_path("../run.rb", __dir__), name, "--json", *arguments)
      out.lines.map { |line| JSON.parse(line) } if status.success?
    end

    def section(name, rows)
      return "## #{name}\n\nfailed\n" unless rows

      head = ["## #{name}\n", "| row | against | ratio | goal | | |", "|---|---|---|---|---|---|"]
      [*head, *rows.map { |line| row(line) }, ""].join("\n")
    end

    def row(line)
      mark = {true => "✓", false => "✗"}.fetch(line["met"], "")
      "| #{line["row"]} | #{line["against"]} | #{format("%.2f", line["ratio"])} | #{line["goal"]} | #{mark} | #{line["note"]} |"
    end
  end
end
