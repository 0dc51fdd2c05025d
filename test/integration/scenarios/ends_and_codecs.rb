# frozen_string_literal: true

# Proves that `eofed` is called each time that a partition's end was reached, also of an empty one, where that is asked
# for; that `seek(:latest)` leaves out what was there; and that key and headers have codecs of their own, which are called
# only when they are asked for.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 2)
  produce(name, (0...5).map { |i| {payload: i.to_s, key: "k#{i}", partition: 0, headers: {"n" => i.to_s}} })
  seen = Thread::Queue.new
  ends = Thread::Queue.new
  skipping = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    const_set(:ENDS, ends)
    const_set(:SKIPPING, skipping)
    def consume
      return seek(:latest) if self.class::SKIPPING.closed?

      messages.each { |message| self.class::SEEN << [message.offset, message.key, message.raw_key, message.headers, message.payload] }
    end

    def eofed
      self.class::ENDS << partition
    end
  end
  calls = Hash.new(0)
  configure(librdkafka: {"enable.partition.eof": true}, commit_interval: 0.2)
  routes do
    topic(name) do
      consumer consumer
      deserializers payload: ->(bytes) { (calls[:payload] += 1) && bytes.to_i },
        key: ->(bytes) { (calls[:key] += 1) && bytes.upcase },
        headers: ->(headers) { (calls[:headers] += 1) && headers.transform_values(&:to_i) }
    end
  end
  start
  eventually("both ends") { ends.size >= 2 }
  equal([0, 1], drain(ends).uniq.sort, "partitions whose end was reached")
  equal((0...5).map { |i| [i, "K#{i}", "k#{i}", {"n" => i}, i] }, drain(seen), "decoded")
  equal({payload: 5, key: 5, headers: 5}, calls, "calls of the codecs")

  produce(name, [{payload: "5", key: "k5", partition: 0}])
  eventually("the end once more") { ends.size.positive? }
  equal(1, drain(seen).size, "seen")
  drain(ends)
  skipping.close
  produce(name, (6...10).map { |i| {payload: i.to_s, key: "k#{i}", partition: 0} })
  eventually("the end after the seek") { committed(name) == [10] && ends.size.positive? } # what came before the seek is asked for would be left out
  consumer.send(:remove_const, :SKIPPING)
  consumer.const_set(:SKIPPING, Thread::Queue.new)
  produce(name, [{payload: "10", key: "k10", partition: 0}])
  eventually("the next one") { seen.size.positive? }
  stop
  equal([10], drain(seen).map(&:first), "seen after the seek")
  equal([11], committed(name), "committed")
end
