# frozen_string_literal: true

# Proves that the blocks of `every` run for each partition without messages, never beside another method of the same consumer, in
# all members that have partitions; that a slow one holds up no other partition; and that no message is lost or reordered meanwhile.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 2)
  runs = Thread::Queue.new
  beside = Thread::Queue.new
  journal = account
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:alone) do |&block|
      beside << partition unless (@lock ||= Mutex.new).try_lock
      block.call
    ensure
      @lock.unlock if @lock.owned?
    end
    every(0.1) { alone { runs << [partition, :often] } }
    every(0.3) do
      alone do
        sleep(0.2) if partition.zero?
        runs << [partition, :seldom]
        raise "reported, and run again" if partition == 1
      end
    end
    define_method(:consume) do
      alone { messages.each { |message| journal.handled(partition, message.offset, self) } }
    end
  end
  configure(max_messages: 10)
  routes { topic(name) { consumer consumer } }
  start
  counts = Hash.new(0)
  enough = lambda do
    drain(runs).each { |run| counts[run] += 1 }
    [0, 1].product(%i[often seldom]).all? { |run| counts[run] >= 3 }
  end
  eventually("three runs each without a message", &enough)
  produce_to(name, 2, 500)
  eventually_complete
  counts.clear
  eventually("three runs each beside messages", &enough)
  stop
  runs.clear
  sleep(0.5)
  equal(0, runs.size, "runs after the stop")
  equal([], drain(beside), "partitions whose consumer was in two methods at once")
  equal(["consumer.periodic"], drain(errors).map { |error| error[:type] }.uniq, "errors")
  equal([500, 500], committed(name, partitions: 2), "committed")
end
