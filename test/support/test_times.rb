# frozen_string_literal: true

require "fileutils"
require_relative "../../tool/environment"

# What each test took when it ran last, by the clock and in computing (with the processes that it waited for): for the order in which
# TestProcesses begins them, and for tool/test_times.rb.
class TestTimes < Minitest::Reporter
  FILE = File.join(Environment::BUILD, "test_times.tsv")

  # @return [Hash{String=>Array(Float, Float, String)}] "Class#test" => seconds, seconds of computing, file
  def self.read
    return {} unless File.exist?(FILE)

    File.readlines(FILE, chomp: true).to_h { |line| line.split("\t").then { |name, seconds, computing, file| [name, [Float(seconds), Float(computing), file]] } }
  end

  # @return [Array(Float, Float), nil] seconds, and seconds of computing; nil: it has not run here
  def self.of(suite, name)
    @known ||= read
    @known["#{suite}##{name}"]&.first(2)
  end

  # @return [Float] seconds that this process, the children that it has waited for, and those of its templates have computed
  def self.computing
    times = Process.times
    times.utime + times.stime + times.cutime + times.cstime + TemplateProcess.computing
  end

  def start
    @times = {}
  end

  def record(result)
    file = result.source_location&.first.to_s
    return if result.skipped? || !file.start_with?("#{Environment::ROOT}/")

    @times["#{result.class_name}##{result.name}"] = [result.time, result.metadata.fetch(:computing, 0.0), file.delete_prefix("#{Environment::ROOT}/")]
  end

  # Written in one step, because another run may read it.
  def report
    FileUtils.mkdir_p(File.dirname(FILE))
    temporary = "#{FILE}.#{Process.pid}"
    lines = TestTimes.read.merge(@times).sort.map { |name, (seconds, computing, file)| format("%s\t%.2f\t%.2f\t%s\n", name, seconds, computing, file) }
    File.write(temporary, lines.join)
    File.rename(temporary, FILE)
  end
end
