# frozen_string_literal: true

# Proves that `pipe_to` keeps bytes, keys, headers and order, by key and of messages without one, while consumers fail now and then, and that
# nothing is lost; what is sent twice by a retry is counted.
require_relative "../support/scenario"

Scenario.run do
  source = topic(partitions: 3)
  target = topic(partitions: 3, name: "target")
  count = 3_000
  produce(source, (0...count).map { |i| {payload: "payload #{i}", key: (i % 4).zero? ? nil : "k#{i % 20}", partition: i % 20 % 3, headers: {"i" => i.to_s}}.compact })
  failures = 6
  lock = Mutex.new
  pipe = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      pipe_to(target, headers: {"piped" => "yes"})
      raise "after it was sent" if lock.synchronize { (failures -= 1) >= 0 } && failures.odd?
    end
  end
  journal = account
  result = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      messages.each do |message|
        i = Integer(message.headers["i"])
        whole = message.raw_payload == "payload #{i}" && message.key == ((i % 4).zero? ? nil : "k#{i % 20}") && message.headers["piped"] == "yes"
        raise "not as it was: #{message.inspect}" unless whole

        # Order is by key; those without one keep that of their partition.
        journal.handled(message.key || "none#{i % 20 % 3}", i, :pipe)
      end
    end
  end
  # The account numbers messages of each key from 0 on.
  numbers = Hash.new { |hash, place| hash[place] = [] }
  (0...count).each { |i| numbers[(i % 4).zero? ? "none#{i % 20 % 3}" : "k#{i % 20}"] << i }
  place = numbers.transform_values { |list| list.each_with_index.to_h }
  numbers.each { |name, list| account.produced(name, list.size) }
  journal.define_singleton_method(:handled) { |name, i, life| super(name, place.fetch(name).fetch(i), life) }
  configure(max_messages: 100)
  routes do
    topic(source) { consumer pipe }
    topic(target) { consumer result }
  end
  start
  eventually_complete
  stop
  equal([1_000, 1_000, 1_000].sum, committed(source, partitions: 3).sum, "committed")
end
