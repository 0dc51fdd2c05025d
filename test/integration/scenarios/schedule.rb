# frozen_string_literal: true

# stress: more kills
#
# Proves that scheduled tasks run once per due time in several processes: while one of them is killed (-9), while they stop and start, and
# when a process dies amid a run, which is repeated (`missed: :run_once`) or not (`missed: :skip`); that a task can be disabled and
# enabled, listed and run from the command line, there or in the process that has the schedule; and that the topic is created where the broker lets us.
require "tempfile"
require_relative "../support/scenario"

APPLICATION = <<~'RUBY'
  require "guildhall/kafka"
  journal = File.open(ENV.fetch("JOURNAL"), File::WRONLY | File::APPEND)
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ENV.fetch("SERVERS"), "session.timeout.ms": Integer(ENV.fetch("SESSION")), "heartbeat.interval.ms": 300}
    config.group_id = ENV.fetch("GROUP")
    config.logger = nil
  end
  Guildhall::Kafka.instrumentation.subscribe("error.occurred") { |event| warn("#{Process.pid}: #{event.payload}") } if ENV["DEBUG"]
  Guildhall::Kafka.routes do
    schedule do
      %i[run_once skip].each do |rule|
        task(rule, "* * * * * *", missed: rule) do |due|
          journal.syswrite("#{rule} #{due.to_i} #{Process.pid} begin\n")
          Process.kill(:KILL, Process.pid) if ENV["DIES"] == rule.to_s
          journal.syswrite("#{rule} #{due.to_i} #{Process.pid} end\n")
        end
      end
    end
  end
RUBY

Run = Struct.new(:task, :due, :pid, :what)

Scenario.run do
  embedded&.create_topic("#{group}.schedule", partitions: 1)
  application = Tempfile.create(["application", ".rb"]).tap { |file| file.write(APPLICATION) && file.close }
  journal = Tempfile.create("journal").tap(&:close)
  environment = {"JOURNAL" => journal.path, "SERVERS" => servers, "GROUP" => group, "SESSION" => embedded ? "1000" : "6000"}
  command = [RbConfig.ruby, "-e", 'require "guildhall/cli"; exit(Guildhall::CLI.new.run(ARGV))', "--"]
  living = []
  kills = 0
  process = lambda do |dies = nil|
    living << spawn(environment.merge("DIES" => dies), *command, "server", "-r", application.path)
    living.last
  end
  cli = lambda do |*arguments|
    out, err, status = guildhall("schedule", *arguments, "-r", application.path, env: environment)
    check(status.success?, "schedule #{arguments.join(" ")} has failed: #{err}")
    out
  end
  runs = lambda do
    File.readlines(journal.path, chomp: true).map { |line| line.split.then { |task, due, pid, what| Run.new(task, Integer(due), Integer(pid), what) } }
  end
  begun = ->(task = nil) { runs.call.select { |run| run.what == "begin" && (task.nil? || run.task == task) } }
  more = lambda do |what, count = 3, tasks = %w[run_once skip]|
    before = begun.call.size
    eventually(what, 120) { tasks.all? { |task| begun.call.drop(before).count { |run| run.task == task } >= count } }
  end
  ended = lambda do |pid, signal = nil|
    Process.kill(signal, pid) if signal
    kills += 1 if signal == :KILL
    Process.wait(living.delete(pid))
  end

  cli.call("disable", "skip") # before any process has run
  policies = lambda do |name|
    client(:admin) { |admin| admin.describe_configs([{resource_type: 2, resource_name: name}]).wait(max_wait_timeout_ms: 60_000).resources.first.configs }
  end
  equal("compact", policies.call("#{group}.schedule").find { |config| config.name == "cleanup.policy" }.value, "the topic") unless embedded
  cli.call("enable", "skip")
  2.times { process.call }
  more.call("the tasks run")
  owner = begun.call.last.pid
  ended.call(owner, :KILL)
  more.call("the tasks run after a kill")
  check(begun.call.last.pid != owner, "the dead process runs on")
  cut_off = %w[run_once skip].to_h do |rule|
    dying = process.call(rule)
    (living - [dying]).each { |pid| ended.call(pid, :TERM) }
    ended.call(dying)
    last = runs.call.select { |run| run.pid == dying && run.task == rule }
    equal(["begin"], last.map(&:what), "what the dying process has done")
    process.call
    more.call("the tasks run after a death amid #{rule}")
    [rule, last.first.due]
  end
  (long? ? 10 : 1).times do
    process.call
    more.call("the tasks run while processes come and go", 1)
    ended.call(living.first, %i[TERM KILL].sample)
    more.call("the tasks run after that", 1)
  end

  cli.call("disable", "skip")
  listed = -> { cli.call("list", "--json").lines.map { |line| Guildhall::JSON.decode(line) } }
  eventually("the task is disabled") { listed.call.any? { |row| row["task"] == "skip" && !row["enabled"] } }
  more.call("the other runs on", 2, ["run_once"])
  before = begun.call("skip").size
  more.call("the other still runs on", 3, ["run_once"])
  equal(before, begun.call("skip").size, "runs of the disabled task")
  cli.call("run", "skip", "--here")
  equal(before + 1, begun.call("skip").size, "runs from the command line")
  by_hand = [begun.call("skip").last]
  out = cli.call("run", "skip")
  by_hand << begun.call("skip").last
  equal(before + 2, begun.call("skip").size, "runs in the process that has the schedule")
  equal(true, out.include?(":#{by_hand.last.pid}") && by_hand.last.pid == begun.call("run_once").last.pid, "where it has run: #{out}")
  cli.call("enable", "skip")
  more.call("the task runs again")
  check(cli.call("list").match?(/^skip +\* \* \* \* \* \* +skip +yes +\d{4}-/), "the list")
  living.dup.each { |pid| ended.call(pid, :TERM) }

  scheduled = begun.call - by_hand
  twice = scheduled.group_by { |run| [run.task, run.due] }.select { |_, same| same.size > 1 }.keys
  equal([], twice.assoc("skip").to_a, "due times of `missed: :skip` that ran twice")
  equal(2, scheduled.count { |run| run.task == "run_once" && run.due == cut_off["run_once"] }, "runs of the due time that was cut off")
  # The processes that were killed may have been amid a run, too: it has an end only where it came to that.
  killed = runs.call.group_by { |run| [run.task, run.due, run.pid] }.select { |_, lines| lines.size == 1 }.keys.map { |task, due, _| [task, due] }
  check((twice - killed).size <= kills, "due times that ran twice although their run was finished: #{twice - killed}")
  scheduled.group_by(&:task).each_value { |list| equal(list.map(&:due).sort, list.map(&:due), "order of due times") }
  notes << "#{scheduled.size} runs" << "#{twice.size} repeated" << "#{scheduled.map(&:pid).uniq.size} processes"
ensure
  living&.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
  [application, journal].compact.each { |file| File.delete(file.path) }
end
