# frozen_string_literal: true

# Proves that `synchronize` lets one virtual partition of a partition in at a time, while they work side by side outside
# of it, and that it holds for each partition alone.
require_relative "../support/scenario"

# How many are in a place at once.
class Gauge
  attr_reader :most

  def initialize
    @lock = Mutex.new
    @now = @most = 0
  end

  def inside
    @lock.synchronize { @most = [@most, @now += 1].max }
    yield
  ensure
    @lock.synchronize { @now -= 1 }
  end
end

Scenario.run do
  name = topic(partitions: 2)
  account = self.account
  outside, together = Array.new(2) { Gauge.new }
  each = Array.new(2) { Gauge.new }
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:ACCOUNT, account)
    const_set(:GAUGES, [outside, together, each])
    def consume
      outside, together, each = self.class::GAUGES
      messages.each do |message|
        outside.inside { sleep(0.002) }
        synchronize { together.inside { each[partition].inside { sleep(0.002) } } }
        self.class::ACCOUNT.handled("#{partition}/#{message.key}", message.payload.to_i, self)
      end
    end
  end
  configure(concurrency: 6)
  routes do
    topic(name) do
      consumer consumer
      virtual_partitions partitioner: ->(message) { message.key }, max: 3
    end
  end
  produce(name, (0...300).map { |i| {payload: (i / 6).to_s, key: (i % 3).to_s, partition: (i / 3) % 2} })
  2.times { |partition| 3.times { |key| account.produced("#{partition}/#{key}", 50) } }
  start
  eventually_complete
  stop
  equal([1, 1], each.map(&:most), "in the block at once, for each partition")
  check(outside.most > 1, "nothing was done side by side")
  check(together.most > 1, "one partition waited for the other")
end
