# frozen_string_literal: true

# How far a run of the tests is: dots, with the count at the end of each line; failures as they come; at the end why tests were
# skipped.
class Progress < Minitest::ProgressReporter
  LINE = 60 # dots

  # Takes the place of Minitest's own dots.
  module Plugin
    def plugin_guildhall_init(options)
      reporter.reporters.reject! { |other| other.instance_of?(Minitest::ProgressReporter) }
      reporter.reporters.unshift(Progress.new(options[:io], options), TestTimes.new(options[:io], options))
    end
  end

  def self.install
    Minitest.extend(Plugin)
    Minitest.extensions << "guildhall"
  end

  def start
    @total = Minitest::Runnable.runnables.sum { |suite| wanted(suite).size }
    @done = 0
    @skipped = []
    @failed = 0
    io.puts("#{@total} tests", "")
  end

  def record(result)
    super
    @done += 1
    @skipped << result if result.skipped?
    failed(result) unless result.passed? || result.skipped?
    io.puts("  #{@done}/#{@total}#{", #{@failed} failed" if @failed.positive?}") if !options[:verbose] && (@done % LINE).zero?
  end

  def report
    super
    return if @skipped.empty?

    io.puts("", "Skipped:")
    @skipped.group_by { |result| result.failure.message }.each do |reason, results|
      io.puts("  #{results.size} × #{reason}: #{results.first(3).map { |result| "#{result.klass}##{result.name}" }.join(", ")}#{", …" if results.size > 3}")
    end
  end

  private

  # At once, because the end of a long run is far away.
  def failed(result)
    @failed += 1
    io.puts("", "  #{result.failure.result_label}: #{result.location}", result.failure.message.gsub(/^/, "    "))
  end

  def wanted(suite)
    suite.respond_to?(:filter_runnable_methods) ? suite.filter_runnable_methods(options) : suite.runnable_methods
  end
end
