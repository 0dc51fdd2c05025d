# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaOffsetRangeTest < GuildhallTest
  Record = Struct.new(:offset)
  Topic = Guildhall::Kafka::Broker::Session::Topic
  # A partition of ten offsets, of which some hold messages.
  Session = Struct.new(:present) do
    def ranges_of(_topic, numbers) = numbers.to_h { |number| [number, 0...10] }
    def each_record(_topic, _partition, range) = present.select { |offset| range.cover?(offset) }.each { |offset| yield Record.new(offset) }
  end

  def first(from, present)
    topic = Topic.new(name: "t", error: nil, leaders: {0 => 1})
    Guildhall::Kafka::Broker::OffsetRange.new(from, :end).resolve(Session.new(present), topic, [0]).fetch(["t", 0]).begin
  end

  # messages => where the last three of them begin
  def test_a_negative_number_counts_messages_and_not_offsets
    {[*0...10] => 7, [0, 1, 2, 3, 4, 6, 8] => 4, [0, 1, 2] => 0, [0] => 0, [] => 0, [1, 9] => 0, [5, 6, 7] => 5}.each do |present, offset|
      assert_equal offset, first(-3, present), present
    end
    assert_equal 9, first(-1, [3, 9])
    assert_equal 4, first(4, [9])
  end
end
