# frozen_string_literal: true

require "json"
require "open3"
require "rbconfig"
require_relative "machine"

class Bench
  # benchmark/RESULTS.md: every script's rows, each script in a process of its own.
  class Report
    PATH = File.expand_path("../RESULTS.md", __dir__)

    # @param names [Array<String>] of the scripts
    def initialize(names)
      @names = names.sort
    end

    # @param arguments [Array<String>] handed to each script
    # @return [Integer] exit status
    def write(arguments)
      sections = @names.map { |name| section(name, arguments) }
      File.write(PATH, [header, *sections].join("\n"))
      puts PATH
      0
    end

    private

    def header
      <<~TEXT
        # Results

        #{Machine.description}. Written by `bin/bench --report`: ratios of one run, higher is better.
      TEXT
    end

    def section(name, arguments)
      warn("  #{name} …")
      out, status = Open3.capture2(RbConfig.ruby, File.expand_path("../run.rb", __dir__), name, "--json", *arguments)
      return "## #{name}\n\nfailed\n" unless status.success?

      head = ["## #{name}\n", "| row | against | ratio | goal | |", "|---|---|---|---|---|"]
      [*head, *out.lines.map { |line| row(JSON.parse(line)) }, ""].join("\n")
    end

    def row(line)
      mark = {true => "✓", false => "✗"}.fetch(line["met"], "")
      "| #{line["row"]} | #{line["against"]} | #{format("%.2f", line["ratio"])} | #{line["goal"]} | #{mark} |"
    end
  end
end
