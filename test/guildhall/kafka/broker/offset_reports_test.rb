# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaOffsetReportsTest < GuildhallTest
  Partition = Data.define(:name, :number, :position)
  Record = Data.define(:offset)
  Client = Struct.new(:begin_offset_known) do
    def begin_offset(_topic, _partition) = begin_offset_known
  end
  Application = Struct.new(:events) do
    def publish(name, **payload) = events << [name, payload]
  end

  # @return [Array] events where the next message was expected at an offset, and came with another
  def events(expected, offset, first)
    application = Application.new([])
    Guildhall::Kafka::Broker::OffsetReports.new(application, "g").read(Client.new(first), Partition.new("t", 2, expected), Record.new(offset))
    application.events
  end

  def test_a_gap_is_reported_where_its_messages_were_deleted
    assert_equal [["offsets.reset", {group: "g", topic: "t", partitions: {2 => [10, 50]}}]], events(10, 50, 50)
    assert_equal [["offsets.reset", {group: "g", topic: "t", partitions: {2 => [10, 90]}}]], events(10, 90, 50), "read on at the end"
    assert_empty events(10, 12, 0), "marks of transactions"
    assert_empty events(10, 12, 10)
    assert_empty events(10, 10, 50), "what was fetched before"
    assert_empty events(10, 50, nil), "librdkafka does not know"
    assert_empty events(nil, 50, 50), "the first batch"
  end
end
