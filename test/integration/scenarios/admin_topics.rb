# frozen_string_literal: true

# broker: real
#
# Proves that topics can be created, described, changed, trimmed and deleted, in Ruby and by the commands; that a plan says what differs from
# the routes, that applying it makes that so and nothing else, and that a second plan finds nothing.
require_relative "../support/scenario"
require "guildhall/cli"
require "json"
require "stringio"
require "tempfile"

Scenario.run do
  servers = @servers
  prefix = topic(name: "admin")
  configure
  name = "#{prefix}.orders"
  guildhall = lambda do |*arguments, brokers: ["-b", servers]|
    out = StringIO.new
    err = StringIO.new
    status = Guildhall::CLI.new(out:, err:).run([*arguments, *brokers])
    [status, out.string.lines(chomp: true), err.string]
  end

  Guildhall::Kafka.admin do |admin|
    topics = admin.topics
    topics.create(name, partitions: 2, replicas: 1, config: {"retention.ms": 3_600_000})
    eventually("the topic is there") { topics.names.include?(name) }
    equal(false, topics.names.include?("__consumer_offsets"), "Kafka's own topics")
    listed = topics.list.find { |one| one.name == name }
    equal([2, 1, 0, 0, false, nil], [listed.partitions.size, listed.replicas, listed.under_replicated, listed.without_leader, listed.internal, listed.error], "a topic of the list")
    produce(name, Array.new(10) { |i| {payload: i.to_s, partition: i % 2} })
    found = topics[name]
    check(Ractor.shareable?(found), "a description is shareable")
    equal([[0...5, 0...5], 10], [found.partitions.map(&:offsets), found.messages], "offsets")
    equal(["3600000", :topic], found.settings["retention.ms"].then { |one| [one.value, one.source] }, "a setting of the topic's")
    equal(:default, found.settings["segment.ms"].source, "a setting of Kafka's")

    topics.configure(name, set: {"segment.ms": 60_000}, unset: ["retention.ms"])
    eventually("brokers have the changed settings") { topics.settings(name)["segment.ms"].value == "60000" }
    changed = topics.settings(name)
    equal([["60000", :topic], :default], [changed["segment.ms"].then { |one| [one.value, one.source] }, changed["retention.ms"].source], "changed settings")
    refused = begin
      topics.configure(name, set: {"retention.ms": -5})
    rescue Guildhall::Kafka::KafkaError => error
      error.message
    end
    check(refused.include?("Invalid value -5 for configuration retention.ms"), "the brokers' reason: #{refused}")

    equal({0 => 3}, topics.trim(name, before: 3, partitions: [0]), "the first offset that is left")
    equal([3...5, 0...5], topics[name].partitions.map(&:offsets), "offsets after that")
    equal({0 => 5, 1 => 5}, topics.trim(name, before: Time.now + 60), "messages that are older")
    equal(2, topics.grow(name, partitions: 3), "partitions before")
    eventually("it has grown") { topics[name].partitions.size == 3 }

    cluster = admin.cluster
    check(cluster.brokers.any? && cluster.controller && cluster.topics.positive? && cluster.under_replicated.zero?, "the cluster: #{cluster}")
    check(cluster.group_protocols.include?("classic"), "its protocols: #{cluster.group_protocols}")
  end

  status, lines, err = guildhall.call("topics", "show", name, "--json")
  equal([0, "", name, 3], [status, err, *JSON.parse(lines.first).then { |one| [one["topic"], one["partitions"].size] }], "show --json")
  equal([0, ["TOPIC", name]], guildhall.call("topics", "list", "#{prefix}.*").then { |code, out,| [code, out.map { |line| line.split.first }] }, "list")
  equal([0, ["#{name} (3 → 4 partitions) would grow"], ""], guildhall.call("topics", "grow", name, "-p", "4", "--dry-run"), "grow --dry-run")
  status, lines, err = guildhall.call("topics", "delete", name)
  equal([2, [], true], [status, lines, err.include?("nobody is there to answer \"delete #{name} (3 partitions, about 0 messages)")], "delete without --yes")
  equal([0, ["~ #{name}: segment.ms 60000 → 7"], ""], guildhall.call("topics", "config", name, "set", "segment.ms=7", "--dry-run"), "config --dry-run")
  equal(["#{name} is changed"], guildhall.call("topics", "config", name, "set", "segment.ms=70000")[1], "config set")
  eventually("config set, again") { guildhall.call("topics", "config", name, "set", "segment.ms=70000")[1] == ["nothing to change"] }
  status, lines, = guildhall.call("topics", "create", name, "#{prefix}.more", "-p", "1")
  equal([1, ["#{prefix}.more is created: partitions 1"]], [status, lines], "one of two topics is there already")
  equal([0, "brokers"], guildhall.call("cluster", "--json").then { |code, out,| [code, JSON.parse(out.first).keys[2]] }, "cluster --json")

  handles = accounting
  routes do
    topic(name) do
      consumer(handles)
      config partitions: 4, replicas: 1, "segment.ms": 80_000, "max.message.bytes": 100_000
      retry_topics 5, prefix: "#{prefix}.again"
      dead_letter_queue topic: "#{prefix}.dead"
    end
    topic("#{prefix}.more") { config partitions: 1, replicas: 2, "retention.ms": -1 }
    topic("#{prefix}.never") { config replicas: 9 }
  end
  Tempfile.create(["routes", ".rb"]) do |file| # the commands load an application; it is here already
    of_routes = ["-r", file.path]
    plan = [
      "~ #{name}: partitions 3 → 4 (messages with the same key go to other partitions from then on)", "~ #{name}: segment.ms 70000 → 80000",
      "~ #{name}: max.message.bytes 1048588 (default) → 100000", "+ #{prefix}.dead: partitions 4, replicas 1, max.message.bytes 101000",
      "+ #{prefix}.again.5: partitions 4, replicas 1, max.message.bytes 101000",
      "! #{prefix}.more: replicas 1 → 2 (Kafka changes replicas by reassigning partitions only: kafka-reassign-partitions.sh)",
      "~ #{prefix}.more: retention.ms 604800000 (default) → -1 (messages may be deleted, or lost)", "+ #{prefix}.never: replicas 9"
    ]
    equal([0, [*plan, "3 to create, 4 to change, 1 that cannot be done"], ""], guildhall.call("topics", "plan", brokers: of_routes), "plan")
    equal(4, guildhall.call("topics", "plan", "--check", brokers: of_routes).first, "plan --check")
    status, lines, err = guildhall.call("topics", "apply", "--yes", brokers: of_routes)
    equal([1, plan[..4] + plan[6..6]], [status, lines.map { |line| line.delete_prefix("done: ") }], "apply: #{err}")
    check(err.include?("#{prefix}.never: INVALID_REPLICATION_FACTOR"), "what could not be done: #{err}")
    left = [plan[5], plan[7]]
    eventually("only that is left") { guildhall.call("topics", "plan", brokers: of_routes)[1] == [*left, "1 to create, 1 that cannot be done"] }
    equal([4, 4], Guildhall::Kafka.admin { |admin| ["#{prefix}.dead", "#{prefix}.again.5"].map { |one| admin.topics[one].partitions.size } }, "partitions")
  end

  # What the application creates at start is as declared, too.
  Guildhall::Kafka.admin { |admin| admin.topics.delete("#{prefix}.again.5") }
  eventually("it is deleted") { Guildhall::Kafka.admin { |admin| !admin.topics.names.include?("#{prefix}.again.5") } }
  start
  eventually("it is created again") { Guildhall::Kafka.admin { |admin| admin.topics.names.include?("#{prefix}.again.5") } }
  equal("101000", Guildhall::Kafka.admin { |admin| admin.topics.settings("#{prefix}.again.5")["max.message.bytes"].value }, "its setting")
  stop

  names = Guildhall::Kafka.admin { |admin| admin.topics.names }.select { |one| one.start_with?(prefix) }
  Guildhall::Kafka.reset # the settings of an application that was started cannot be changed
  Guildhall::Kafka.config.logger = nil
  status, lines, = guildhall.call("topics", "delete", *names, "-y")
  equal([0, names.map { |one| "#{one} is deleted" }], [status, lines], "delete")
end
