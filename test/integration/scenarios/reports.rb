# frozen_string_literal: true

# broker: real
#
# Proves that processes report into a topic (`config.reports`) what they do, from their start to their last words: where one is stopped, ends by
# itself, is killed (-9), or another process of a swarm is; that an outage of the broker costs reports, and nothing else; and that work goes on
# where reports may not be written, which one line says. The topic is made with its settings. On brokers of its own.
require "zlib"
require_relative "../support/scenario"
require_relative "../../support/secured_broker"

PROGRAM = <<~'RUBY'
  require "guildhall/kafka"
  servers, topic, group, mode = ARGV
  class Handles < Guildhall::Kafka::Consumer
    def consume = messages.each { |message| raise "boom" if message.raw_payload == "bad" }
  end
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": servers, "auto.offset.reset": "earliest"}
    config.group_id = group
    config.client_id = mode
    config.reports = true
    config.logger = nil
  end
  Guildhall::Kafka.routes { topic(topic) { consumer Handles } }
  case mode
  when "swarm" then exit(Guildhall::Kafka.swarm(processes: 2))
  when "raises"
    Guildhall::Kafka.start
    sleep(0.1) until Guildhall::Kafka.application.partitions.any?
    raise "the script ends"
  else exit(Guildhall::Kafka.run)
  end
RUBY

Scenario.run do
  own_broker(Scenario::QUICK_GROUPS) or next
  name = topic(partitions: 2)
  configure
  records = lambda do |app|
    found = []
    Guildhall::Kafka.application.each_message("guildhall.reports") do |message|
      record = JSON.parse(Zlib::Inflate.inflate(message.raw_payload))
      equal([message.key, {"state" => 0, "minute" => 1}.fetch(record["kind"], 2)], [record["process"], message.partition], "key and partition")
      found << record if record["app"] == app
    end
    found
  rescue Guildhall::Kafka::UnknownTopicError
    []
  end
  of_kind = ->(app, kind) { records.call(app).select { |one| one["kind"] == kind } }
  states = ->(app) { of_kind.call(app, "state").map { |state| state["state"] } }
  events = ->(app) { of_kind.call(app, "event").map { |event| event["name"] } }
  running = []
  run = lambda do |mode|
    command = [RbConfig.ruby, "-e", PROGRAM, servers, name, "#{group}-#{mode}", mode]
    IO.popen(command, err: File::NULL, chdir: File.expand_path("../../..", __dir__)).tap { |io| running << io }
  end
  ends = ->(io) { Process.wait2(io.pid).last }

  produce(name, [{payload: "good", partition: 0}, {payload: "bad", partition: 1}])
  stopped = run.call("stopped")
  killed = run.call("killed")
  eventually("both report the error", 90) do
    %w[stopped killed].all? do |app|
      of_kind.call(app, "error").any? && of_kind.call(app, "state").any? { |state| state["topics"].dig(0, "partitions")&.size == 2 }
    end
  end
  error = of_kind.call("stopped", "error").first
  equal(["consumer.consume", "RuntimeError", "boom", "-e:4", name, 1, 0],
    error.values_at("type", "class", "message", "place", "topic", "partition", "offset"), "the error")
  check(error["count"].positive?, "the error was counted") # it may have come again before the first record was sent
  Process.kill(:TERM, stopped.pid)
  Process.kill(:KILL, killed.pid)
  equal([0, 9], [ends.call(stopped).exitstatus, ends.call(killed).termsig], "how they have ended")
  equal(["started", true, "stopped"], events.call("stopped").then { |all| [all.first, all.include?("stopping"), all.last] }, "events of an orderly stop")
  equal(%w[stopped running], [states.call("stopped").last, states.call("killed").last], "the last state")
  equal((1..states.call("stopped").size).to_a, of_kind.call("stopped", "state").map { |state| state["seq"] }, "seq")
  minute = of_kind.call("stopped", "minute").last["topics"].find { |one| one["topic"] == name }
  equal([1, 4], minute.values_at("consumed", "bytes"), "what was consumed")

  equal(1, ends.call(run.call("raises")).exitstatus, "how the script has ended")
  equal(%w[stopped stopped], [states.call("raises").last, events.call("raises").last], "its last words")

  settings = Guildhall::Kafka::Reporting::ReportTopic::CONFIG.settings_as_text
  Guildhall::Kafka.application.admin do |admin|
    made = admin.topics["guildhall.reports"]
    equal([3, settings], [made.partitions.size, made.settings.slice(*settings.keys).transform_values { |one| one.value.to_s }], "the topic")
  end

  swarm = run.call("swarm")
  eventually("both processes report", 90) { of_kind.call("swarm", "state").map { |state| state["number"] }.uniq.sort == [1, 2] }
  pid = of_kind.call("swarm", "state").find { |state| state["number"] == 2 }["pid"]
  Process.kill(:KILL, pid)
  eventually("how it has ended is reported") { events.call("swarm").include?("process_ended") }
  ended = of_kind.call("swarm", "event").find { |event| event["name"] == "process_ended" }
  equal(["process 2 of the swarm (pid #{pid}) has ended: SIGKILL (signal 9)", 2, pid, "SIGKILL (signal 9)"],
    ended.values_at("text", "number", "pid", "status"), "process_ended")
  Process.kill(:TERM, swarm.pid)
  equal(0, ends.call(swarm).exitstatus, "how the swarm has ended")

  consumer = accounting
  work = topic(partitions: 2)
  restart(reports: true, client_id: "outage") { topic(work) { consumer(consumer) } }
  application = Guildhall::Kafka.application
  produce_to(work, 2, 50)
  eventually_complete
  eventually("it reports") { states.call("outage").any? }
  kill_broker(work) do
    application.reporter.event("outcome", "lost")
    sleep(13) # longer than a report waits for the brokers
  end
  application.reporter.event("outcome", "later")
  produce_to(work, 2, 50)
  eventually_complete
  texts = -> { of_kind.call("outage", "event").map { |event| event["text"] } }
  eventually("it reports again", 90) { texts.call.include?("later") }
  check(!texts.call.include?("lost"), "what could not be sent in time was sent")
  sequence = of_kind.call("outage", "state").map { |state| state["seq"] }
  equal(sequence.uniq.sort, sequence, "seq")
  stop
  equal("stopped", states.call("outage").last, "the last state after an outage")

  reason = SecuredBroker.missing
  next notes << "rights are not tested: #{reason}" if reason

  SecuredBroker.run do |broker|
    @servers = broker.address(:plain)
    allowed = topic
    client(:admin) do |admin|
      [[2, allowed], [3, group]].each do |type, resource|
        admin.create_acl(resource_type: type, resource_name: resource, resource_pattern_type: 3, principal: "User:alice", host: "*", operation: 3,
          permission_type: 3).wait(max_wait_timeout_ms: 60_000)
      end
    end
    Guildhall::Kafka.reset
    configure(librdkafka: broker.settings(:sasl, user: "alice"), reports: true)
    routes { topic(allowed) { consumer(consumer) } }
    advice = Thread::Queue.new
    Guildhall::Kafka.instrumentation.subscribe("app.advised") { |event| advice << event.payload[:message] }
    drain(errors)
    produce(allowed, [{payload: "1"}])
    start
    said = advice.pop(timeout: 60)
    check(said&.match?(/\Athis process does not report \(config.reports\): .*AUTHORIZATION_FAILED.*: guildhall topics create guildhall.reports --partitions 3 --config /), said)
    eventually("work goes on") { committed(allowed) == [1] }
    sleep(5) # two more tries
    stop
    equal([], drain(advice), "what is said again")
    equal([], drain(errors), "errors")
  end
ensure
  running&.each do |io|
    Process.kill(:KILL, io.pid)
  rescue Errno::ESRCH
    nil
  end
end
