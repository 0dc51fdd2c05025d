# frozen_string_literal: true

# everyday: embedded
# stress: on the real broker too
#
# Proves that after a seek back the committed offset goes back too: the next member continues where this one
# stopped, and not where it had been before the seek.
require_relative "../support/scenario"

Scenario.run do
  name = topic
  produce(name, (0...200).map { |i| {payload: i.to_s, partition: 0} })
  seen = []
  back = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    const_set(:BACK, back)
    def consume
      messages.each { |message| self.class::SEEN << message.offset }
      return pause if self.class::BACK.closed? && messages.first.offset.zero?
      return if self.class::BACK.empty? || messages.last.offset < 199

      seek(self.class::BACK.pop)
      self.class::BACK.close
    end
  end
  drawing = proc { topic(name) { consumer(consumer) } }
  configure(max_messages: 10, commit_interval: 0.1)
  routes(&drawing)
  start
  eventually("all seen") { seen.last == 199 }
  eventually("committed") { committed(name) == [200] }
  back << 0
  produce(name, [{payload: "one more", partition: 0}])
  eventually("seen again") { seen.last(10) == (0..9).to_a }
  eventually("committed, back again") { committed(name) == [10] }
  stop
  equal([10], committed(name), "committed at the end")
  seen.clear
  consumer.send(:remove_const, :BACK)
  consumer.const_set(:BACK, Thread::Queue.new)
  restart(&drawing)
  eventually("the rest") { seen.last == 200 }
  stop
  equal((10..200).to_a, seen, "seen after the restart")
end
