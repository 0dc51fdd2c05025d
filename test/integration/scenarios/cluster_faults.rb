# frozen_string_literal: true

# broker: real
# stress: every kind of fault, one after the other
#
# Proves, on three secured brokers of its own, that whatever becomes of brokers (one that leads partitions and the other controllers is killed; in
# the long form also: a rolling restart, one that stands still, two that are gone, so that neither min.insync.replicas nor a majority of
# controllers is left) consumers, key order, retry topics, dead letters, transactions, the schedule and producers go on by themselves, and that
# each message that brokers had confirmed was handled, in order by key, exactly once with transactions; only what is bad is dead-lettered.
require_relative "../support/scenario"
require_relative "../../soak/soak"

Scenario.run do
  reason = Cluster.missing
  next notes << "skipped: #{reason}" if reason

  folder = File.join(ENV.fetch("SCENARIO_FOLDER", Dir.tmpdir), "soak")
  soak = Soaking::Soak.new(rate: 100, folder:, out: $stderr, members: long? ? 3 : 2, senders: 1, seed: rand(100_000))
  soak.perform do
    topic = Soaking::Plan.topics("soak")[:plain]
    goes_on = lambda do |fault|
      before = soak.ledger.to_h
      %w[confirmed handled committed dead scheduled].each do |what|
        eventually("after #{fault}: #{what} more than #{before[what]}", 150) { soak.ledger.to_h[what] > before[what] }
      end
    end
    faults = soak.faults
    random = Random.new(rand(100_000))
    kinds = {
      "the controller's end" => -> { faults.controller_kill(random) },
      "a leader's end" => -> { faults.broker_kill(random, soak.cluster.leader_of(topic, 0)) },
      "a rolling restart" => -> { faults.rolling_restart },
      "a broker's standstill" => -> { faults.broker_freeze(random) },
      "the end of two brokers" => -> { faults.two_brokers(random) },
      "a member that stands still" => -> { faults.member_freeze(random) },
      "a deployment amid a broker's end" => -> { [Thread.new { faults.broker_term(random) }, Thread.new { faults.deploy }].each(&:value) }
    }
    kinds = kinds.first(1) unless long?
    kinds.each do |name, fault|
      fault.call
      goes_on.call(name)
    end
  end
  account = soak.ledger.to_h
  check(soak.clean?, "#{soak.problems.join("; ")}\n#{Dir["#{folder}/*.log"].map { |log| "#{File.basename(log)}:\n#{File.readlines(log).last(20).join}" }.join("\n")}")
  notes << "#{account["confirmed"]} confirmed, #{account["handled"] + account["committed"]} handled, #{account["doubled"]} again, #{account["dead"]} dead"
end
