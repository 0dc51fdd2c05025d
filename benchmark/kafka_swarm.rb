# frozen_string_literal: true

# Memory of four processes of `guildhall swarm`, which share what was loaded before the fork, against four of `guildhall server`: the sum of their
# proportional set sizes (the swarm's parent included), after all have read messages from a real broker. The application has 70 MB of code.
# Linux only.
require_relative "support/bench"
require_relative "kafka/topics"
require_relative "kafka/fleet"

# What each row does.
class KafkaSwarmRows
  PROCESSES = 4
  BYTES = 5_000
  GOAL = 1.5

  def initialize(bench, servers)
    @bench = bench
    @servers = servers
    @topics = Topics.new(servers)
  end

  def run
    return unless @bench.wanted?(name = "kafka_swarm.memory.#{PROCESSES}")

    swarm = memory([["swarm", "--processes", PROCESSES.to_s]])
    servers = memory([["server"]] * PROCESSES)
    abort("#{swarm.size} and #{servers.size} processes") unless [swarm.size, servers.size] == [PROCESSES + 1, PROCESSES]
    @bench.note("MB of the parent and its processes: #{list(swarm)}; of servers: #{list(servers)}")
    @bench.row(name, against: "#{PROCESSES} × guildhall server", ratio: servers.sum / swarm.sum, goal: GOAL)
  end

  private

  def memory(commands)
    topic = @topics.empty
    count = @bench.quick? ? 20_000 : 200_000
    Fleet.new(commands, PROCESSES, @servers, topic).memory(count) { @topics.feed(topic, BYTES, count) }
  end

  def list(sizes) = sizes.map(&:round).join(" + ")
end

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
abort("bin/bench kafka_swarm: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?
abort("bin/bench kafka_swarm: needs /proc/PID/smaps_rollup, which Linux has") unless File.exist?("/proc/self/smaps_rollup")
Bench.script("kafka_swarm") { |bench| KafkaSwarmRows.new(bench, servers).run }
