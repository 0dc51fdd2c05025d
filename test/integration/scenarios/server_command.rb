# frozen_string_literal: true

# Proves that `guildhall server` consumes the groups and topics that are named and not those that are excluded (also where
# a pattern matches them), with as many runner threads as configured; that TTIN reports what every thread and partition is
# doing; that after TSTP no new work is started; and that it stops on SIGTERM with status 0.
require_relative "../support/scenario"
require "tempfile"

APPLICATION = <<~'RUBY'
  $stdout.sync = true
  class Telling < Guildhall::Kafka::Consumer
    def consume
      messages.each { |message| puts("#{topic.group} #{topic_name} #{message.raw_payload}") }
    end
  end
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ENV.fetch("SERVERS"), "auto.offset.reset": "earliest", "session.timeout.ms": 6_000}
    config.group_id = ENV.fetch("GROUP")
    config.logger = Logger.new($stdout, level: Logger::INFO)
  end
  Guildhall::Kafka.routes do
    pattern(Regexp.new("\\A#{ENV.fetch("PREFIX")}")) { consumer Telling }
    consumer_group("#{ENV.fetch("GROUP")}-2") { topic(ENV.fetch("OTHER")) { consumer Telling } }
    consumer_group("#{ENV.fetch("GROUP")}-3") { topic(ENV.fetch("OTHER")) { consumer Telling } }
  end
RUBY

# What the process writes, line by line, as it comes.
class Output
  def initialize(io)
    @lines = Thread::Queue.new
    @thread = Thread.new { io.each_line(chomp: true) { |line| @lines << line } }
    @seen = []
  end

  def seen
    @seen << @lines.pop until @lines.empty?
    @seen
  end

  def rest
    @thread.join(20)
    seen
  end
end

Scenario.run do
  prefix = "wanted-#{@id}"
  wanted = topic(name: prefix)
  unwanted = topic(name: prefix)
  other = topic(name: "other")
  [wanted, unwanted, other].each { |name| produce(name, [{payload: "1", partition: 0}]) }
  file = Tempfile.create(["application", ".rb"]).tap { |one| one.write(APPLICATION) && one.close }
  environment = {"SERVERS" => servers, "GROUP" => group, "PREFIX" => prefix, "OTHER" => other}
  command = [RbConfig.ruby, "exe/guildhall", "server", "-r", file.path, "--exclude-topics", unwanted,
             "--groups", "#{group},#{group}-2", "--concurrency", "3"]
  reading, writing = IO.pipe
  pid = spawn(environment, *command, out: writing, err: writing, chdir: File.expand_path("../../..", __dir__))
  writing.close
  output = Output.new(reading)
  consumed = -> { output.seen.grep(/\A#{group}/) }
  eventually("both are consumed") { consumed.call.size >= 2 }
  equal(["#{group} #{wanted} 1", "#{group}-2 #{other} 1"], consumed.call.sort, "consumed")

  # The message is on its way out before `consume` has returned: until then the partition is at work.
  asking = lambda do |state|
    eventually("TTIN reports that #{other}/0 is #{state}") do
      Process.kill(:TTIN, pid)
      sleep(0.2)
      output.seen.any? { |line| line.include?("Partition #{other}/0 #{state}") }
    end
  end
  asking.call("waiting")
  equal(%w[1 2 3], output.seen.grep(/guildhall runner/).filter_map { |line| line[/runner (\d+)/, 1] }.uniq.sort, "runner threads")
  check(output.seen.any? { |line| line.include?("Partition #{wanted}/0") }, "TTIN does not report #{wanted}")

  Process.kill(:TSTP, pid)
  asking.call("quiet")
  produce(other, [{payload: "not any more", partition: 0}])
  sleep(1)
  Process.kill(:TERM, pid)
  _, status = Process.wait2(pid)
  lines = output.rest
  equal(0, status.exitstatus, "exit status")
  equal([], lines.grep(/not any more|#{unwanted} \d/), "what must not be consumed")
  equal([1], committed(other, group: "#{group}-2"), "committed; it said\n#{lines.last(12).join("\n")}\n")
  equal([nil], committed(unwanted).map { |offset| offset if offset&.>=(0) }, "committed of what was excluded")
ensure
  File.delete(file) if file
end
