# frozen_string_literal: true

# broker: real (the embedded one holds a request for commands back until its time is over)
#
# Proves that a command is carried out once or not at all, and never late: where its process is killed (-9) before it acts, or before it tells
# what has become of it, and where it stands still until the command has expired; that it is not carried out on a partition that has moved
# to another process since; and that a pause ends with the assignment. What becomes of commands comes with the reports.
require "socket"
require "tempfile"
require "guildhall/kafka/commanding/commander"
require_relative "../support/scenario"

APPLICATION = <<~'RUBY'
  require "guildhall/kafka"
  journal = File.open(ENV.fetch("JOURNAL"), File::WRONLY | File::APPEND)
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ENV.fetch("SERVERS"), "auto.offset.reset": "earliest", "session.timeout.ms": 6_000, "heartbeat.interval.ms": 300}
    config.group_id = ENV.fetch("GROUP")
    config.commands = {public_key: ENV.fetch("PUBLIC"), topic: ENV.fetch("COMMANDS"), allow: %i[pause resume retry seek stop]}
    config.reports = {topic: ENV.fetch("REPORTS")}
    config.logger = nil
  end
  note = ->(*words) { journal.syswrite("#{words.join(" ")} #{Process.pid}\n") }
  Guildhall::Kafka.instrumentation.subscribe("app.running") { note.call("running") }
  Guildhall::Kafka.instrumentation.subscribe("partition.paused") { note.call("paused") }
  Guildhall::Kafka.instrumentation.subscribe(*ENV["DIES_AT"]) { note.call("dies") && Process.kill(:KILL, Process.pid) && sleep } if ENV["DIES_AT"]
  Guildhall::Kafka.instrumentation.subscribe("command.finished") { |event| note.call(*event.payload.values_at(:id, :outcome)) }
  Guildhall::Kafka.routes do
    topic(ENV.fetch("TOPIC")) { consumer(Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { messages.each { |one| note.call("consumed", one.offset) } } }) }
  end
RUBY

Scenario.run do
  commanding = Guildhall::Kafka::Commanding
  private_key, public_key = commanding::Keys.generate
  own = "commands-#{group}"
  name = topic
  application = Tempfile.create(["application", ".rb"]).tap { |file| file.write(APPLICATION) && file.close }
  journal = Tempfile.create("journal").tap(&:close)
  environment = {"JOURNAL" => journal.path, "SERVERS" => servers, "GROUP" => group, "TOPIC" => name, "COMMANDS" => own, "PUBLIC" => public_key,
                 "REPORTS" => "reports-#{group}"}
  configure(commands: {public_key:, topic: own}, reports: {topic: "reports-#{group}"})
  commander = Guildhall::Kafka.commander(private_key:)
  first = {group:, topic: name, partition: 0}
  # @return [Array(Symbol, String, String), nil] outcome, reason and process
  ask = lambda do |action, target = first, **given|
    commander.issue(action, target, by: "ada", why: "to see", **given).outcomes.map { |one| [one.outcome, one.reason, one.process] }.first
  end

  living = []
  lines = -> { File.readlines(journal.path, chomp: true).map(&:split) }
  serve = lambda do |dies_at = nil|
    pid = spawn({**environment, "DIES_AT" => dies_at}, RbConfig.ruby, Scenario::COMMAND, "server", "-r", application.path, %i[out err] => File::NULL)
    living << pid
    eventually("#{pid} runs") { lines.call.include?(["running", pid.to_s]) }
    pid
  end
  offset = 0
  consumes = lambda do |pid, what|
    produce(name, [{payload: "good", partition: 0}])
    eventually("#{what}: #{pid} consumes #{offset}") { lines.call.include?(["consumed", offset.to_s, pid.to_s]) }
    offset += 1
  end
  ended = lambda do |pid, signal = nil|
    Process.kill(signal, pid) if signal
    _, status = Process.wait2(pid)
    living.delete(pid)
    status
  end
  paused = ->(pid) { lines.call.include?(["paused", pid.to_s]) }
  listens = lambda do |pid| # it has read the topic's end, and will miss none
    eventually("#{pid} reads commands") { ask.call(:resume, wait: 1, expires: 1) }
  end

  {"command.received" => false, "command.finished" => true}.each do |step, done|
    pid = serve.call(nil)
    consumes.call(pid, step)
    listens.call(pid)
    ended.call(pid, :TERM)

    pid = serve.call(step)
    consumes.call(pid, step)
    eventually("#{step}: it is killed") { equal(nil, ask.call(:pause, args: {seconds: 600}, wait: 1, expires: 2), "no answer") || lines.call.include?(["dies", pid.to_s]) }
    equal(Signal.list["KILL"], ended.call(pid).termsig, "#{step}: it was killed")
    equal(done, paused.call(pid), "#{step}: whether it was done")
    follower = serve.call
    consumes.call(follower, "#{step}: the next process")
    listens.call(follower)
    equal(false, paused.call(follower), "#{step}: never again")
    equal(0, ended.call(follower, :TERM).exitstatus, "stopped")
  end

  pid = serve.call
  consumes.call(pid, "before it stands still")
  listens.call(pid)
  Process.kill(:STOP, pid)
  equal(nil, ask.call(:pause, args: {seconds: 600}, expires: 2, wait: 3), "nobody answers")
  Process.kill(:CONT, pid)
  eventually("it is refused") { lines.call.any? { |line| line[1] == "refused" && line.last == pid.to_s } }
  equal(false, paused.call(pid), "not late")
  consumes.call(pid, "late")

  *, process = ask.call(:pause, args: {seconds: 600})
  check(paused.call(pid), "paused")
  ended.call(pid, :TERM)
  second = serve.call
  consumes.call(second, "a pause ends with the assignment")
  listens.call(second)
  outcome, reason = ask.call(:pause, args: {seconds: 600}, expect: {process:})
  equal([:refused, true, false], [outcome, reason.include?("has moved to this process: it was expected to be with #{process}"), paused.call(second)], reason)
  equal(nil, ask.call(:stop, {process:}, wait: 1), "a process that is gone")
  *, process = ask.call(:retry)
  equal(:done, ask.call(:stop, {process:}).first, "stop")
  equal(0, ended.call(second).exitstatus, "it has stopped by itself")
ensure
  living&.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
end
