# frozen_string_literal: true

# Proves that `Application#report`, `/state` and `guildhall top` say what each partition does and why while messages fail (what counts, an outage,
# a parked key), a consumer has paused, the application is quiet, and the brokers are away.
require_relative "../support/scenario"
require "net/http"

TOKEN = "0123456789abcdef0123456789abcdef"

Scenario.run do
  fails = topic(partitions: 4)
  keyed = topic(name: "keyed", partitions: 1)
  dead = topic(name: "dead", partitions: 1)
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    def consume
      pause(nil, 600) if partition == 2
      messages.each_marking do |message|
        raise KeyError, "no #{message.offset}" if partition.zero? && message.offset == 3
        raise IOError, "no bank" if partition == 1 && message.offset == 2
      end
    end
  end
  by_key = Class.new(Guildhall::Kafka::Consumer) { def consume = messages.each { |message| raise "no key" if message.key == "k1" } }
  configure(pause_timeout: 60, pause_max_timeout: 60, release: "v7")
  routes do
    topic(fails) { consumer(consumer) && dead_letter_queue(topic: dead, max_retries: 5) }
    topic(keyed) { consumer(by_key) && ordering(:key) }
  end
  produce(fails, (0...40).map { |i| {payload: i.to_s, partition: i % 4} })
  produce(keyed, (0...20).map { |i| {payload: i.to_s, key: "k#{i % 4}"} })
  start
  application = Guildhall::Kafka.application
  rows = -> { application.report["topics"].flat_map { |one| one["partitions"].map { |row| [[one["topic"], row["partition"]], row] } }.to_h }
  row = ->(name, number) { rows.call[[name, number]] || {} }
  eventually("all states") do
    rows.call.values_at(*(0..3).map { |number| [fails, number] }, [keyed, 0]).map { |one| one && one["state"] } == %w[backoff backoff paused waiting waiting] &&
      row.call(keyed, 0).dig("parked", "keys") == 1 && row.call(keyed, 0)["done_behind"] == 14 && row.call(fails, 3)["lag"]&.zero?
  end
  counted = row.call(fails, 0)
  equal([3, 3, 2, 7, "KeyError", "counted", 3], [*counted.values_at("position", "committed", "attempt", "lag"), *counted["error"].values_at("error_class", "kind", "offset")],
    "what counts")
  check(counted["error"]["place"].include?("scenarios/state.rb:"), counted["error"])
  check((1..75).cover?(counted["rests"]["backoff"]["left"]), counted["rests"])
  outage = row.call(fails, 1)
  equal([2, 1, "outage"], [*outage.values_at("position", "attempt"), outage["error"]["kind"]], "an outage")
  check((500..600).cover?(row.call(fails, 2)["rests"]["user"]["left"]), "the consumer's pause")
  parked = row.call(keyed, 0)["parked"]
  equal([1, 5, nil, "k1", 1, 5, 2, "RuntimeError"], [*parked.values_at("keys", "messages", "full"), *parked["oldest"].first.values_at("key", "offset", "messages", "attempt"),
                                                     parked["oldest"].first["error"]["error_class"]], "the parked key")
  equal([[2, 4], [6, 8], [10, 12], [14, 16], [18, 19]], row.call(keyed, 0)["ranges"], "ranges that are done")

  health = Guildhall::Kafka::Health.new(application)
  probes = Guildhall::Kafka::Probes.new({host: "127.0.0.1", port: 0, token: TOKEN}, health) { application.report }.start
  uri = URI("http://127.0.0.1:#{probes.port}/state")
  get = ->(**headers) { Net::HTTP.get_response(uri, headers) }
  equal(%w[401 401 200], [get.call, get.call(Authorization: "Bearer x"), get.call(Authorization: "Bearer #{TOKEN}")].map(&:code), "who may read the state")
  top = lambda do |*options|
    out, err, status = guildhall("top", "http://127.0.0.1:#{probes.port}", *options, env: {"GUILDHALL_STATE_TOKEN" => TOKEN})
    equal([0, ""], [status.exitstatus, err], "status of top")
    out
  end
  out = top.call
  [%r{^-  #{fails}/0: backing off: KeyError: .*next attempt in .*, from offset 3; .*after 5 retries the message goes to #{dead}$},
   %r{^-  #{fails}/1: outage: IOError: no bank \(.*\), .*; counts as an outage: the message is retried until it succeeds, and does not become a dead letter; .*what to do: bring back},
   %r{^-  #{fails}/2: paused: by its consumer, for }, %r{^-  #{keyed}/0: key parked: key k1 is parked with 5 messages, from offset 1 on},
   /^\S+ +running +.* v7$/].each { |line| check(out.match?(line), "no line #{line}:\n#{out}") }
  equal(application.report["process"], JSON.parse(top.call("--json"))["process"], "as JSON")

  application.quiet
  eventually("quiet") { row.call(fails, 3)["state"] == "quiet" }
  equal("quiet", application.report["state"], "the process's state")
  application.resume
  if embedded
    embedded.suspend
    eventually("no broker answers", 60) { application.report["ready"].any? { |one| one["code"] == "no_broker" } }
    away = row.call(fails, 0) # empty: its session is over
    check(away.empty? || (away["lag"].nil? && away["age"].positive?), "in an outage the age of what is in memory is known: #{away}")
    check(top.call.match?(/^!  \S+: group .*: no broker answers, for [\dms]+(\.\d)?( s)?; what to do: nothing here: it goes on by itself once they answer; guildhall check finds out what is wrong$/), top.call)
    embedded.resume
    eventually("brokers answer again", 60) { application.report["ready"].none? }
  end
ensure
  probes&.stop
end
