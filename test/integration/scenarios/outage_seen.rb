# frozen_string_literal: true

# broker: real
#
# Proves what an operator sees of a broker that is frozen (SIGSTOP), and of one that is killed: within seconds the event
# broker.unreachable, readiness that is gone, lag that is not known and never 0, a process that stays alive; all of it taken back once the
# broker answers. Also after the session has expired and the group has taken all partitions away.
# On a broker of its own.
require_relative "../support/scenario"
require "guildhall/kafka/health"

Scenario.run do
  broker = own_broker or next

  name = topic
  configure(lag_interval: 0.2, librdkafka: {"session.timeout.ms": 12_000, "heartbeat.interval.ms": 1_000, "reconnect.backoff.max.ms": 500})
  consumer = accounting
  routes { topic(name) { consumer(consumer) } }
  produce_to(name, 1, 10)
  events = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("broker.unreachable", "broker.reachable", "lag.measured", "rebalance.partitions_revoked") { |event| events << event }
  recorded = Thread::Queue.new
  Guildhall::Kafka.config.metrics << Struct.new(:to) { def record(metric, value, tags) = to << [metric.name, value, tags] }.new(recorded)
  start
  health = Guildhall::Kafka::Health.new(Guildhall::Kafka.application)
  eventually_complete
  eventually("ready") { health.ready.ok? }
  eventually("lag is known") { (drain(events).reverse.find { |event| event.name == "lag.measured" }&.payload || {})[:partitions]&.first&.fetch(:messages).eql?(0) }

  outage = lambda do |what, until_lost:|
    seen = []
    look = lambda do
      seen.concat(drain(events))
      alive = health.live
      check(alive.ok?, "#{what}: /live says #{alive}")
      seen
    end
    took, = timed { eventually("#{what}: broker.unreachable") { look.call.any? { |event| event.name == "broker.unreachable" } } }
    check(took < 20, "#{what}: broker.unreachable came after #{took.round} s")
    eventually("#{what}: not ready") { look.call && health.ready.to_s.include?("no broker answers") }
    eventually("#{what}: lag is not known") { look.call.reverse.find { |event| event.name == "lag.measured" }.payload[:partitions].empty? }
    if until_lost
      eventually("#{what}: all partitions are lost") { look.call.any? { |event| event.name == "rebalance.partitions_revoked" && event.payload[:lost] } }
      3.times { eventually("#{what}: lag is measured") { look.call && drain(recorded).any? { |metric,| metric == "broker.silence_seconds" } } }
    end
    # After the moment in which it became unknown.
    known = seen.select { |event| event.name == "lag.measured" }.map { |event| event.payload[:partitions].map { |one| one[:messages] } }
    check(known.drop_while(&:any?).all?(&:empty?), "#{what}: lag was said to be #{known.inspect}")
    first = seen.find { |event| event.name == "broker.unreachable" }.payload
    equal([servers, false], first.values_at(:broker, :reminder), "#{what}: broker.unreachable")
    check(!first[:advice].to_s.empty?, "#{what}: no advice for #{first[:reason]}")
    notes << "#{what}: seen after #{took.round(1)} s (#{first[:reason]})"
  end

  recovered = lambda do |what|
    eventually("#{what}: broker.reachable") { drain(events).any? { |event| event.name == "broker.reachable" } }
    eventually("#{what}: ready again") { health.ready.ok? }
    produce_to(name, 1, 10)
    eventually("#{what}: lag is known again") { drain(events).reverse.find { |event| event.name == "lag.measured" }.then { |last| last && last.payload[:partitions].any? } }
  end

  drain(events)
  drain(recorded)
  begin
    Process.kill(:STOP, broker.pid)
    outage.call("frozen", until_lost: true)
    values = drain(recorded).select { |metric, _, tags| metric.start_with?("lag.") && tags[:topic] == name }
    check(values.none? { |metric, value,| metric == "lag.age_seconds" && value.zero? }, "the gauges of lag were set to 0: #{values.inspect}")
  ensure
    Process.kill(:CONT, broker.pid)
  end
  recovered.call("frozen")
  drain(events)
  kill_broker(name) { outage.call("killed", until_lost: false) }
  recovered.call("killed")
  eventually("all is consumed") { account.settled >= 30 }
  stop(timeout: 40)
end
