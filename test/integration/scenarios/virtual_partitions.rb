# frozen_string_literal: true

# Proves that one partition is consumed by several threads at once, in order for each key; that offsets advance only over
# what is done; that a failure collapses it to consumption in order, with retries and dead letters, and that it is
# virtual again behind it; and that nothing is handled twice but what was in work in the failing virtual partition.
require_relative "../support/scenario"

Scenario.run do
  count = 400
  keys = 8
  name = topic
  produce(name, (0...count).map { |i| {payload: %({"i": #{i}}), key: "k#{i % keys}", partition: 0} })
  lock = Mutex.new
  seen = Hash.new { |hash, key| hash[key] = [] }
  collapsed = []
  threads = {}
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    const_set(:LOCK, lock)
    const_set(:COLLAPSED, collapsed)
    const_set(:THREADS, threads)
    def consume
      messages.each do |message|
        i = message.payload["i"]
        raise "no" if i == 203

        sleep(0.001)
        self.class::LOCK.synchronize do
          self.class::SEEN[message.key] << i
          self.class::THREADS[Thread.current] = true
          self.class::COLLAPSED << i if collapsed?
        end
        mark_as_consumed(message)
      end
    end
  end
  configure(max_messages: 100, concurrency: 4, pause_timeout: 0.02)
  routes do
    topic(name) do
      consumer consumer
      deserializer Guildhall::JSON.lazy
      virtual_partitions partitioner: ->(message) { message.key }, max: 4
      dead_letter_queue topic: false, max_retries: 2
    end
  end
  start
  eventually("all consumed") { lock.synchronize { seen.values.sum(&:size) } >= count - 1 }
  stop
  equal(count - 1, seen.values.sum(&:size), "handled, none twice")
  seen.each_value { |list| equal(list.sort, list, "order of a key") }
  check(threads.size > 1, "only one thread took part")
  check(collapsed.any? && collapsed.all? { |i| i.between?(200, 299) }, "collapsed for #{collapsed}")
  equal(collapsed.sort, collapsed, "order while collapsed")
  equal([count], committed(name), "committed")
  notes << "#{threads.size} threads" << "#{collapsed.size} in order"
end
