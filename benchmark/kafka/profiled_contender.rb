# frozen_string_literal: true

require "open3"
require "tmpdir"
require_relative "contender"

# A contender under a profiler.
class ProfiledContender < Contender
  VALGRIND = %w[valgrind --quiet --tool=callgrind --fair-sched=yes --compress-strings=no --compress-pos=no].freeze
  HERTZ = 997
  PERF = ["perf", "record", "-q", "-e", "cpu-clock", "-F", HERTZ.to_s].freeze

  # @return [Hash{Array(String, String)=>Integer}] instructions of each function itself, by library and name
  def instructions(servers, topic, count)
    Dir.mktmpdir do |folder|
      file = File.join(folder, "callgrind")
      profile([*VALGRIND, "--callgrind-out-file=#{file}"], servers, topic, count)
      read(file)
    end
  end

  # @return [Hash{Array(String, String, String)=>Float}] seconds of a processor, by thread, library and function
  def seconds(servers, topic, count)
    Dir.mktmpdir do |folder|
      file = File.join(folder, "perf")
      profile([*PERF, "-o", file], servers, topic, count)
      report = ["perf", "report", "-i", file, "--stdio", "-n", "--sort", "comm,dso,symbol", "--field-separator", "\t"]
      out, status = Open3.capture2(*report, err: File::NULL)
      abort("perf report: #{status}") unless status.success?
      rows = out.lines(chomp: true).grep(/\A\s*\d/).map { |line| line.split("\t").map(&:strip) }
      rows.each_with_object(Hash.new(0)) do |(_, samples, thread, library, function), seconds|
        seconds[[thread, library, function.delete_prefix("[.] ").delete_prefix("[k] ")]] += samples.to_f / HERTZ
      end
    end
  end

  private

  def profile(profiler, servers, topic, count)
    out, status = Open3.capture2e({"STOPWATCH_LIMIT" => "600", **@environment}, *profiler, *command(servers, topic, count))
    abort(out) unless status.success?
  end

  # The line after `calls=` has what was called, with all below it.
  def read(file)
    costs = Hash.new(0)
    library = function = nil
    called = false
    File.foreach(file, chomp: true, encoding: "BINARY") do |line|
      case line
      when /\Aob=/ then library = File.basename(line)
      when /\Afn=/ then function = [library, line.delete_prefix("fn=")]
      when /\Acalls=/ then called = true
      when /\A\d+ \d+/
        costs[function] += Integer(line.split.last) unless called
        called = false
      end
    end
    costs
  end
end
