# frozen_string_literal: true

# Proves that with manual marks only what is marked is committed: `mark_offset` and `mark_as_consumed` in the background,
# `mark_as_consumed!` and `commit_offsets!` at once, with the text that the application keeps beside an offset; that marks
# never go back; and that all of them answer false once the partition is gone.
require_relative "../support/scenario"

Scenario.run do
  name = topic
  produce(name, (0...50).map { |i| {payload: i.to_s, partition: 0} })
  answers = []
  instances = []
  texts = []
  scenario = self
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:ANSWERS, answers)
    const_set(:INSTANCES, instances)
    const_set(:TEXTS, texts)
    const_set(:SCENARIO, scenario)
    def initialized
      self.class::INSTANCES << [self]
      texts << offset_metadata
    end

    def texts = self.class::TEXTS

    def consume
      self.class::INSTANCES.last[1] = messages.last
      first = messages.first.offset
      case first
      when 0 then note(mark_offset(4), nil)
      when 10 then note(mark_as_consumed!(messages[5], "the text"), messages[5].offset)
      when 20
        texts << offset_metadata
        note(mark_as_consumed(messages.last), nil)
        texts << offset_metadata
      when 30 then note(mark_offset(2) && commit_offsets!, nil)
      end
    end

    def note(answer, offset)
      self.class::ANSWERS << [messages.first.offset, answer, self.class::SCENARIO.kept(topic.name), offset]
    end
  end
  define_singleton_method(:kept) do |topic|
    client(:consumer, "group.id": group) do |one|
      list = Rdkafka::Consumer::TopicPartitionList.new
      list.add_topic(topic, 1)
      found = Guildhall::Kafka::Group::Client.ask_coordinator { one.committed(list, 10_000) }.to_h.fetch(topic).first
      [found.offset&.>=(0) ? found.offset : nil, found.metadata.to_s]
    end
  end
  configure(max_messages: 10, commit_interval: 600)
  routes do
    topic(name) do
      consumer consumer
      manual_offset_management true
    end
  end
  start
  eventually("all seen") { instances.dig(0, 1)&.offset == 49 }
  # (first offset of the batch, answer, committed afterwards)
  equal([[0, true, [nil, ""], nil], [10, true, [16, "the text"], 15], [20, true, [16, "the text"], nil], [30, true, [30, ""], nil]],
    answers, "marks and what they commit")
  equal([nil, "the text", "the text"], texts, "the text beside the offset: before, after, and where a mark without one is not committed yet")
  eventually("statistics") { instances.dig(0, 0).statistics.to_h["partition"]&.zero? }
  stop
  equal([30], committed(name), "committed at the end")
  gone, message = instances.first
  equal([false] * 4, [gone.mark_offset(40), gone.mark_as_consumed(message), gone.mark_as_consumed!(message), gone.commit_offsets!],
    "marks once the partition is gone")
  equal([true, 1], [gone.revoked?, instances.size], "instances")
end
