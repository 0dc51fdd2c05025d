# frozen_string_literal: true

# everyday: embedded
#
# Proves that a replay brings back dead letters as they were however odd they are (keys and payloads that are bytes, empty or not there, headers
# without a value, with several, or from another tool, a megabyte where the producer's queue takes less), to a partition that there is; that it
# stops before one whose topic is gone, and goes on behind it when told so, without doubling those before.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 2)
  gone = "#{name}-gone"
  dead = topic(name: "dead")
  origin = lambda do |topic = name, partition = 1|
    {"source_topic" => topic, "source_partition" => partition.to_s, "source_offset" => "7", "source_consumer_group" => "g",
     "source_attempts" => "1", "source_error_class" => "E"}
  end
  big = Array.new(8) { |i| {key: "big#{i}", payload: SecureRandom.bytes(300_000), headers: {"i" => i.to_s}} }
  letters = [
    {key: "\xFF\x00k".b, payload: "\x00\xFE".b, headers: {}},
    {key: nil, payload: nil, headers: {"none" => nil}},
    {key: "", payload: "", headers: {"empty" => "", "many" => ["1", nil, "2"]}},
    {key: "k", payload: "partition 9", headers: {}, partition: 9},
    {key: "k", payload: "twice", headers: {"source_topic" => ["elsewhere", name], "source_partition" => %w[0 1]}},
    *big,
    {key: "k", payload: "gone", headers: {}, topic: gone},
    {key: "last", payload: "last", headers: {}}
  ]
  produce(dead, letters.map do |letter|
    headers = {**origin.call(letter[:topic] || name, letter[:partition] || 1), **letter[:headers]}
    {key: letter[:key], payload: letter[:payload], headers:, partition: 0}
  end)
  configure(producer: {"queue.buffering.max.kbytes": 1_000})
  routes { topic(name) { consumer(Class.new(Guildhall::Kafka::Consumer) { def consume = nil }) && dead_letter_queue(topic: dead) } }
  replay = lambda do |range|
    Guildhall::Kafka.application.dead_letters(dead) do |dead_letters|
      Guildhall::Kafka::Broker::Replay.new(dead_letters).run({0 => range || (dead_letters.marks([0])[0].position...dead_letters.ranges[0].end)})
    end
  end
  hole = letters.index { |letter| letter[:topic] == gone }
  2.times do
    replay.call(nil)
    raise Failed, "it was replayed to a topic that is gone"
  rescue Guildhall::ArgumentError => error
    check(error.message.include?("came from #{gone}, which is gone"), error.message)
  end
  replay.call((hole + 1)...letters.size)
  seen = []
  Guildhall::Kafka.application.each_message(name) { |message| seen << message }
  wanted = letters.reject { |letter| letter[:topic] }
  plain = ->(headers) { headers.except("source_topic", "source_partition") }
  found = seen.to_h { |message| [[message.raw_key&.b, message.raw_payload&.b], plain.call(message.raw_headers)] }
  equal(wanted.size, seen.size, "how many came back")
  wanted.each do |letter|
    headers = found.fetch([letter[:key]&.b, letter[:payload]&.b]) { raise Failed, "#{letter[:key].inspect} did not come back as it was" }
    equal(plain.call(letter[:headers]), headers, "headers of #{letter[:key].inspect}")
  end
  equal([1], seen.reject { |message| message.raw_payload == "partition 9" }.map(&:partition).uniq, "partitions")
end
