# frozen_string_literal: true

# everyday: no
# stress: 10 million messages
#
# Proves that memory stays flat while ten million messages are consumed: a million of them, decoded and looked into, ten
# times over, each time in order and without a gap.
require_relative "../support/scenario"

Scenario.run do
  partitions = 4
  count = 250_000 # messages a partition
  passes = 10
  name = topic(partitions:)
  partitions.times do |partition|
    (0...count).each_slice(50_000) { |some| produce(name, some.map { |i| {payload: %({"i": #{i}, "text": "small"}), partition:} }) }
  end
  done = Thread::Queue.new
  wrong = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:DONE, done)
    const_set(:WRONG, wrong)
    const_set(:LAST, count - 1)
    const_set(:PASSES, passes)
    def initialized
      @next = @passes = 0
    end

    def consume
      messages.each do |message|
        self.class::WRONG << [partition, message.offset, @next] unless message.offset == @next && message.payload["i"] == @next
        @next = message.offset + 1
      end
      return if messages.last.offset < self.class::LAST

      self.class::DONE << (@passes += 1)
      @next = 0
      seek(:earliest) if @passes < self.class::PASSES
    end
  end
  configure
  routes do
    topic(name) do
      consumer consumer
      deserializer Guildhall::JSON.lazy
    end
  end
  resident = -> { File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i / 1024 }
  samples = Hash.new { |hash, pass| hash[pass] = [] } # MB, by the number of passes that were done
  start
  eventually("all passes", 1_500) do
    samples[done.size / partitions] << resident.call
    done.size == partitions * passes
  end
  stop
  equal([], drain(wrong).first(3), "messages")
  peaks = (0...passes).filter_map { |pass| samples[pass].max }
  early, late = peaks.drop(1).then { |rest| [rest.first(3).max, rest.last(3).max] }
  check(late <= (early * 1.1) + 8, "memory grew: #{peaks} MB, pass by pass")
  notes << "#{partitions * count * passes} messages" << "#{peaks.join(", ")} MB, pass by pass"
end
