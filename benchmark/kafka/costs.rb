# frozen_string_literal: true

# What a message costs a contender, by thread, library and function:
# KAFKA_BOOTSTRAP_SERVERS=… bin/console benchmark/kafka/costs.rb instructions|time MODE [KB]
# MODE: one of guildhall_consumer.rb's (raw, document, columns, rows, …), or c. `instructions` needs valgrind, and no quiet machine. There
# are two runs, and the second one reads more messages: the difference is what these cost, and how a process starts is left out. Without
# YJIT (RUBYOPT=--yjit runs with it, but what it takes to compile counts as well). `time` needs perf: microseconds of a processor, with the
# start of the process, which is the thread `ruby`.
require "tmpdir"
require_relative "topics"
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

  # @return [Hash{Array(String, String)=>Float}] seconds of a processor, by thread and library
  def seconds(servers, topic, count)
    Dir.mktmpdir do |folder|
      file = File.join(folder, "perf")
      profile([*PERF, "-o", file], servers, topic, count)
      report = ["perf", "report", "-i", file, "--stdio", "-n", "--sort", "comm,dso", "--field-separator", "\t"]
      out, status = Open3.capture2(*report, err: File::NULL)
      abort("perf report: #{status}") unless status.success?
      rows = out.lines(chomp: true).grep(/\A\s*\d/).map { |line| line.split("\t").map(&:strip) }
      rows.to_h { |_, samples, thread, library| [[thread, library], samples.to_f / HERTZ] }
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

FEW = 5_000
MORE = 20_000
MANY = 600_000
what, mode, kb = ARGV
bytes = Integer(kb || 1) * 1000
servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS")
topics = Topics.new(servers)
contender = mode == "c" ? ProfiledContender.new("consumer.c", "raw") : ProfiledContender.new("guildhall_consumer.rb", mode)
if what == "instructions"
  few, many = [FEW, FEW + MORE].map { |count| contender.instructions(servers, topics.filled(bytes, count), count) }
  costs = many.to_h { |place, cost| [place, (cost - few[place]).fdiv(MORE)] }
else
  costs = contender.seconds(servers, topics.filled(bytes, MANY), MANY).transform_values { |seconds| seconds * 1e6 / MANY }
end
show = ->(name, cost) { puts format(what == "instructions" ? "%9.0f  %s" : "%9.2f  %s", cost, name) }
show.call("#{what == "instructions" ? what : "µs"} a message: #{mode}, #{bytes} B", costs.values.sum)
totals = costs.group_by { |(first, _), _| first }.transform_values { |rows| rows.sum(&:last) }
totals.sort_by { |_, cost| -cost }.first(8).each { |first, cost| show.call(first, cost) }
puts "of these:"
costs.sort_by { |_, cost| -cost }.first(40).each { |place, cost| show.call(place.join(" "), cost) }
