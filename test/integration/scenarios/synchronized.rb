# frozen_string_literal: true

# Proves that `synchronize` lets one virtual partition of a partition in at a time, while they work side by side outside
# of it, and that it holds for each partition alone.
require_relative "../support/scenario"

# Those who have to be somewhere at the same time.
class Meeting
  def initialize(size)
    @size = size
    @lock = Mutex.new
    @changed = ConditionVariable.new
    @present = {}
  end

  # Blocks until all are there: where they cannot be, for longer than the scenario has.
  def attend(who)
    @lock.synchronize do
      @present[who] = true
      @changed.broadcast
      @changed.wait(@lock) until complete?
    end
  end

  def complete?
    @present.size >= @size
  end
end

Scenario.run do
  name = topic(partitions: 2)
  account = self.account
  side_by_side = Array.new(2) { Meeting.new(2) } # two virtual partitions of each partition
  both = Meeting.new(2) # one of each partition
  inside = [0, 0]
  most = [0, 0]
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:ACCOUNT, account)
    const_set(:MEETINGS, [side_by_side, both])
    const_set(:COUNTS, [inside, most])
    def consume
      side_by_side, both = self.class::MEETINGS
      inside, most = self.class::COUNTS
      messages.each do |message|
        side_by_side[partition].attend(message.key)
        synchronize do
          inside[partition] += 1
          most[partition] = [most[partition], inside[partition]].max
          both.attend(partition)
          sleep(0.001)
          inside[partition] -= 1
        end
        self.class::ACCOUNT.handled("#{partition}/#{message.key}", message.payload.to_i, self)
      end
    end
  end
  configure(concurrency: 6)
  routes do
    topic(name) do
      consumer consumer
      virtual_partitions partitioner: ->(message) { message.key }, reducer: ->(key) { Integer(key) }, max: 3
    end
  end
  produce(name, (0...300).map { |i| {payload: (i / 6).to_s, key: (i % 3).to_s, partition: (i / 3) % 2} })
  2.times { |partition| 3.times { |key| account.produced("#{partition}/#{key}", 50) } }
  start
  eventually("some of one partition work side by side") { side_by_side.all?(&:complete?) }
  eventually("one partition does not wait for the other") { both.complete? }
  eventually_complete
  stop
  equal([1, 1], most, "in the block at once, for each partition")
end
