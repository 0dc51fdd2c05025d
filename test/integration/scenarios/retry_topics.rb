# frozen_string_literal: true

# Proves that a message that fails goes through the retry topics of its route, no sooner than each one's delay, with the headers that say
# where it comes from, how often and why it has failed; that all others go on meanwhile, in order; that one that keeps
# failing becomes a dead letter after the last of them, one that cannot be decoded at once; that a restart amid the delays
# loses nothing; and, on a real broker, that topics that are missing are created.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 2)
  dead = topic(name: "dead")
  delays = [1, 2]
  retries = delays.map { |seconds| "#{name}.retry.#{seconds}" }
  retries.each { |retry_topic| embedded.create_topic(retry_topic, partitions: 2) } if embedded
  count = 400
  journal = account
  tries = Hash.new { |hash, number| hash[number] = [] }
  lock = Mutex.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      messages.each do |message|
        number = message.payload["i"]
        seen = lock.synchronize { tries[number] << [topic_name, Process.clock_gettime(Process::CLOCK_MONOTONIC), message.headers] }
        # Every 40th fails until it comes from the last retry topic, every 100th always.
        raise KeyError, "no price" if number % 100 == 7 || (number % 40 == 3 && seen.size <= delays.size)

        # Retried ones have no order.
        topic_name == name ? journal.handled(partition, number, self) : journal.dead_lettered(0, number)
        mark_as_consumed(message)
      end
    end
  end
  route = proc do
    topic(name) do
      consumer consumer
      deserializer Guildhall::JSON
      retry_topics(*delays, prefix: "#{name}.retry")
      dead_letter_queue topic: dead, dispatch_undecodable: true
    end
  end
  # One partition for each number, so that the account knows it.
  produce(name, (0...count).map { |i| {payload: i == 50 ? "no JSON" : %({"i": #{i}}), key: i.to_s, partition: 0} })
  account.produced(0, count)
  configure(commit_interval: 0.2, max_messages: 50)
  routes(&route)
  start
  eventually("all others are consumed") { lock.synchronize { tries.size } == count - 1 }
  stop # while the failed ones wait
  restart(commit_interval: 0.2, max_messages: 50, &route)
  found = []
  client(:consumer, "group.id": "#{group}-dead", "auto.offset.reset": "earliest") do |reader|
    reader.subscribe(dead)
    eventually("the dead letters") do
      message = reader.poll(50)
      found << message if message
      found.map { |one| one.headers["source_offset"] }.uniq.size == 5
    end
  end
  eventually("the retried ones") { lock.synchronize { (0...count).select { |i| i % 40 == 3 }.all? { |i| tries[i].size > delays.size } } }
  # Consumed again at most once for the stop amid the delays.
  stop
  failing = (0...count).select { |i| i % 100 == 7 }
  equal([50, *failing].sort, found.map { |message| Integer(message.headers["source_offset"]) }.uniq.sort, "dead letters")
  found.each { |message| journal.dead_lettered(0, Integer(message.headers["source_offset"])) }
  found.each do |message|
    headers = message.headers
    equal([name, "0", group], headers.values_at("source_topic", "source_partition", "source_consumer_group"), "where it comes from")
    bad = headers["source_offset"] == "50"
    equal(bad ? %w[0 Guildhall::JSON::ParseError] : %w[3 KeyError], headers.values_at("source_attempts", "source_error_class"), "why")
    check(Time.iso8601(headers["source_first_failed_at"]) < Time.now, "when")
  end
  [*failing, 3].each do |number|
    # Where a rebalance comes in between, a topic has it twice.
    times = tries[number].group_by(&:first).transform_values { |list| list.first[1] }
    equal([name, *retries], times.keys, "the way of #{number}")
    waits = times.values.each_cons(2).map { |before, after| after - before }
    check(waits.zip(delays).all? { |wait, delay| wait >= delay - 0.05 }, "#{number} waited #{waits.map { |wait| wait.round(2) }} s")
    equal("2", tries[number].last.last["source_attempts"], "attempts before the last")
  end
end
