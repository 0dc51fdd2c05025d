# frozen_string_literal: true

# Proves that a consumer that marks ten messages of forty and leaves when the process stops loses nothing and repeats nothing:
# what it has marked is committed, the rest is consumed after the next start; and that one without marks gives its batch back
# whole.
require_relative "../support/scenario"

# Handles ten messages of each batch, marks them, and waits until it is to leave.
class Leaving < Guildhall::Kafka::Consumer
  def consume
    messages.each_marking do |message|
      break if stopping?

      self.class::ACCOUNT.handled(partition, message.offset, self)
      next unless message.offset == 9

      self.class::REACHED << partition
      sleep(0.01) until stopping?
    end
  end
end

# Marks nothing; gives its batch back.
class Holding < Guildhall::Kafka::Consumer
  def consume
    self.class::REACHED << partition if self.class::REACHED.size < 2
    sleep(0.01) until stopping? || self.class::REACHED.closed?
    return redeliver_unmarked if stopping?

    messages.each { |message| self.class::ACCOUNT.handled(partition, message.offset, self) }
  end
end

Scenario.run do
  {Leaving => [10, 10], Holding => [0, 0]}.each do |consumer, kept|
    name = topic(partitions: 2)
    account = Account.new
    reached = Thread::Queue.new
    consumer.const_set(:ACCOUNT, account)
    consumer.const_set(:REACHED, reached)
    group_id = "#{group}-#{consumer.name.downcase}"
    drawing = proc { topic(name) { consumer(consumer) } }
    produce(name, (0...80).map { |i| {payload: i.to_s, partition: i % 2} })
    2.times { |partition| account.produced(partition, 40) }
    restart(max_messages: 40, group_id:, &drawing)
    eventually("in the middle of both batches") { reached.size == 2 }
    stop(timeout: 10)
    equal(kept, committed(name, partitions: 2, group: group_id), "committed at the stop, by #{consumer}")
    reached.close
    restart(max_messages: 40, group_id:, &drawing)
    eventually("all of #{consumer}") { account.complete? }
    stop
    equal([[], 80], [account.errors, account.consumed], "errors, and how many #{consumer} has handled (#{account})")
    equal([40, 40], committed(name, partitions: 2, group: group_id), "committed by #{consumer}")
    account.close
  end
end
