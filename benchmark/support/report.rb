# frozen_string_literal: true

require_relative "suite"
require_relative "page"
require_relative "chart"
require_relative "figures"
require_relative "usage"

class Bench
  # benchmark/RESULTS.md, the page, the charts and the guides' tables, of all that was measured and kept, whenever that was.
  class Report
    PATH = File.expand_path("../RESULTS.md", __dir__)
    PAGE = File.expand_path("../results/index.html", __dir__)
    REMARK = "Ratios of one run each, higher is better; each table says when and on what it was taken. Every script checks its results before it measures."

    # @param names [Array<String>] of the scripts to run; none: only what was kept is written
    def initialize(names)
      @names = names
    end

    # @param arguments [Array<String>] handed to each script
    # @return [Integer] exit status
    def write(arguments)
      suite = Suite.new(@names, arguments).tap(&:run) if @names.any?
      Usage.refuse("nothing was measured yet: bin/bench --report NAME measures") if Results.all.empty?
      changed = stale
      changed.each { |path, text| File.write(path, text) }
      puts(changed.any? ? changed.keys : "nothing has changed")
      suite&.failed.to_a.empty? ? 0 : 1
    end

    # @return [Hash{String=>String}] files that do not show what was measured, as they should be, by their paths
    def stale = files.reject { |path, text| File.exist?(path) && File.read(path, encoding: "UTF-8") == text }

    private

    # Every file that shows figures.
    def files
      taken = Results.all
      {PATH => [header, *taken.map { |table| section(table) }].join("\n"), Chart::PATH => Chart.new(taken).svg,
       **Page.new(taken, title: "Guildhall: what bin/bench has measured", remark: REMARK).files(PAGE), **Figures.new(taken).pages}.compact
    end

    def header
      <<~TEXT
        # Results

        Written by `bin/bench --report`. #{REMARK} As a page with charts: [results/index.html](results/index.html).

        ![The rows that people ask for first](../docs/images/figures.svg)
      TEXT
    end

    def section(taken)
      remarks = [taken.machine, taken.date, ("quick run" if taken.quick), ("cut off: #{taken.cut}" if taken.cut)].compact.join("; ")
      head = ["## #{taken.name}\n", "#{remarks}\n", "| row | against | ratio | goal | | the talk | |", "|---|---|---|---|---|---|---|"]
      [*head, *taken.rows.map { |line| row(line) }, ""].join("\n")
    end

    def row(line)
      mark = {true => "✓", false => "✗"}.fetch(line["met"], "")
      "| #{line["row"]} | #{line["against"]} | #{format("%.2f", line["ratio"])} | #{line["goal"]} | #{mark} | #{line["talk"]} | #{line["note"]} |"
    end
  end
end
