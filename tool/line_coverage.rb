# frozen_string_literal: true

require "coverage"
require_relative "environment"

# Which lines of lib tests run: loaded first into each process of `bin/test --coverage` (by RUBYOPT), before anything of ours. What a
# process has run belongs to the test file that COVERAGE_TEST names; it is written into the folder COVERAGE_FOLDER when the process ends in
# order. tool/tested_by.rb makes a table of it. Lines that run when a file is loaded say nothing, and are left out there.
module LineCoverage
  LIBRARY = File.join(Environment::ROOT, "lib/")
  LOADED = "loaded" # lines that run without any test

  class << self
    def start
      Coverage.start(lines: true)
      at_exit { write(ENV.fetch("COVERAGE_TEST", LOADED), Coverage.peek_result) }
    end

    # What is run in the block, in this process and in those that it starts, belongs to the test.
    # @param file [String] of the test
    def of(file)
      return yield unless running?

      Coverage.result(stop: false, clear: true)
      ENV["COVERAGE_TEST"] = file
      yield
    ensure
      write(file, Coverage.result(stop: false, clear: true)) if running?
    end

    def running? = ENV.key?("COVERAGE_FOLDER") && Coverage.running?

    # @param lines [Hash{String=>Hash}] Coverage's
    def write(test, lines)
      ours = lines.select { |path,| path.start_with?(LIBRARY) }.to_h { |path, counts| [path.delete_prefix("#{Environment::ROOT}/"), counts[:lines]] }
      run = ours.transform_values { |counts| counts.each_index.select { |index| counts[index]&.positive? } }
      sizes = ours.transform_values { |counts| counts.count(&:itself) }
      File.binwrite(File.join(ENV.fetch("COVERAGE_FOLDER"), "#{Process.pid}-#{rand(1 << 60)}"), Marshal.dump([test, run, sizes]))
    rescue Errno::ENOENT
      nil # the run has ended before this process
    end
  end
end
LineCoverage.start if ENV.key?("COVERAGE_FOLDER")
