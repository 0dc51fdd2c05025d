# frozen_string_literal: true

# broker: real
# everyday: no
# stress: all of it
#
# Proves, on three brokers of its own, what is seen while a part of the cluster is missing. A partition without a leader is not consumed, and what
# is sent to it waits; so does what is sent to a topic that wants more replicas in sync than there are, and a dead letter whose topic has
# no leader, with its partition; all others go on. With two brokers gone nothing goes on. In each case all of it arrives, once and in
# order, when the brokers are back, without a restart.
require_relative "../support/scenario"
require_relative "../../support/cluster"

Scenario.run do
  reason = Cluster.missing
  next notes << "skipped: #{reason}" if reason

  Cluster.run do |cluster|
    @servers = cluster.servers
    lone = cluster.create_topic("lone-#{group}", partitions: 1, replication: 1)
    home = cluster.leader_of(lone, 0)
    dead = (1..50).lazy.map { |number| cluster.create_topic("dead-#{number}-#{group}", partitions: 1, replication: 1) }.find { |name| cluster.leader_of(name, 0) == home }
    strict = cluster.create_topic("strict-#{group}", partitions: 1, settings: {"min.insync.replicas" => "3"})
    usual = cluster.create_topic("usual-#{group}", partitions: 2)
    topics = {lone => 1, strict => 1, usual => 2}

    journal = account
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        messages.each_marking do |message|
          raise "poison" if message.raw_payload.start_with?("poison")

          journal.handled("#{topic_name}/#{partition}", Integer(message.raw_payload), self)
        end
      end
    end
    blocked = Thread::Queue.new
    configure(librdkafka: {"reconnect.backoff.max.ms": 1_000}, commit_interval: 0.5, pause_max_timeout: 1)
    Guildhall::Kafka.instrumentation.subscribe("dead_letter_queue.blocked") { |event| blocked << event.payload }
    routes do
      topics.each_key do |name|
        topic(name) do
          consumer consumer
          dead_letter_queue topic: dead, max_retries: 1
        end
      end
    end
    start
    numbers = Hash.new(0)
    send_to = lambda do |name, partition, count = 50|
      place = "#{name}/#{partition}"
      first = numbers[place]
      numbers[place] += count
      journal.produced(place, count)
      Guildhall::Kafka.producer.produce_many_async(Array.new(count) { |index| {topic: name, partition:, payload: (first + index).to_s} })
    end
    everywhere = -> { topics.flat_map { |name, partitions| (0...partitions).flat_map { |partition| send_to.call(name, partition) } } }
    arrived = ->(what, deliveries) { eventually("#{what}: delivered", 120) { deliveries.none?(&:pending?) } && equal([], deliveries.filter_map(&:error), what) }
    arrived.call("at first", everywhere.call)
    eventually_complete

    cluster.kill(home)
    eventually("the others have leaders") { (0..1).all? { |partition| ![nil, home].include?(cluster.leader_of(usual, partition)) } }
    waiting = [*send_to.call(lone, 0), *send_to.call(strict, 0)]
    sent = send_to.call(usual, 1)
    arrived.call("to what has a leader", sent)
    eventually("another partition goes on") { journal.settled >= numbers["#{usual}/1"] + (3 * 50) }
    poison = [Guildhall::Kafka.producer.produce_async(topic: usual, partition: 0, payload: "poison")]
    behind = send_to.call(usual, 0)
    arrived.call("poison", poison + behind)
    eventually("its dead letter is blocked") { !blocked.empty? }
    arrived.call("beside it", send_to.call(usual, 1))
    eventually("the other partition goes on beside it") { journal.settled >= numbers["#{usual}/1"] + (3 * 50) }
    check(waiting.all?(&:pending?), "what cannot arrive: #{waiting.filter_map(&:error).first}")
    check(Guildhall::Kafka.application.partitions.any? { |one| one.inspect.include?("#{dead} cannot be written") }, Guildhall::Kafka.application.partitions.map(&:inspect))
    before = journal.settled
    sleep(1)
    equal(before, journal.settled, "what is behind it waits")
    cluster.resume(home)
    arrived.call("once the broker is back", waiting)
    eventually_complete("all is consumed once the broker is back", 120)

    gone = Cluster::NUMBERS.sample(2, random: Random.new(rand(1_000)))
    gone.each { |number| cluster.kill(number) }
    waiting = everywhere.call
    sleep(5)
    left = (waiting.count(&:pending?) - 50) # what has one replica may be on the broker that is left
    check(left.positive?, "without min.insync.replicas #{waiting.count { |one| !one.pending? }} were confirmed")
    gone.map { |number| Thread.new { cluster.resume(number) } }.each(&:join)
    arrived.call("once both are back", waiting)
    eventually_complete("all is consumed once both are back", 120)
    stop
    letters = []
    Guildhall::Kafka.each_message(dead) { |message| letters << message.raw_payload }
    equal(["poison"], letters.uniq, "dead letters")
    notes << "#{letters.size} dead letters of 1"
  end
end
