# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"

class KafkaOffsetReportsTest < GuildhallTest
  Partition = Data.define(:name, :number, :read_to)
  Record = Data.define(:offset)
  Client = Struct.new(:begin_offset_known) do
    def begin_offset(_topic, _partition) = begin_offset_known
  end

  # @return [Hash, nil] of an event, where the next message was expected at an offset, and came with another
  def gap(expected, offset, first)
    Guildhall::Kafka::Broker::OffsetReports.gap(Client.new(first), Partition.new("t", 2, expected), Record.new(offset))
  end

  def test_a_gap_is_reported_where_its_messages_were_deleted
    assert_equal({topic: "t", partitions: {2 => [10, 50]}}, gap(10, 50, 50))
    assert_equal({topic: "t", partitions: {2 => [10, 90]}}, gap(10, 90, 50), "read on at the end")
    assert_nil gap(10, 12, 0), "marks of transactions"
    assert_nil gap(10, 12, 10)
    assert_nil gap(10, 10, 50), "what was fetched before"
    assert_nil gap(10, 50, nil), "librdkafka does not know"
    assert_nil gap(nil, 50, 50), "the first batch"
  end
end

# Where a member begins to read; on the embedded broker.
class KafkaOffsetReportsAtTheStartTest < GuildhallTest
  class Nobody
    def partitions_assigned(_) = nil
    def partitions_revoked(_, lost:) = nil
    def statistics_emitted(_) = nil
  end

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("orders", partitions: 3)
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    [0, 0, 0, 1, 2].map { |partition| producer.produce(topic: "orders", partition:, payload: "x") }.each { |handle| handle.wait(max_wait_timeout_ms: 30_000) }
    producer.close
  end

  def teardown = @broker.stop

  def events(reset, committed: {}, seeking: [], &)
    settings = {"bootstrap.servers": @broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": reset}
    Guildhall::Kafka::Broker::Session.open(settings) { |session| committed.each { |number, offset| session.commit("orders", number, offset) } }
    client = Guildhall::Kafka::Group::Client.new(settings, Nobody.new)
    pairs = [["orders", 0], ["orders", 1], ["orders", 2]]
    Guildhall::Kafka::Broker::OffsetReports.at_start(client, settings, pairs, seeking, &)
  ensure
    client&.close(timeout: 10)
  end

  def test_where_nothing_is_committed
    assert_equal [["offsets.none", {topic: "orders", partitions: [0, 1, 2], place: :earliest, messages: 5, may_seek: false}]], events("smallest")
    assert_equal [["offsets.none", {topic: "orders", partitions: [0, 1, 2], place: :latest, messages: 5, may_seek: false}]], events("latest")
    assert_empty events("error"), "librdkafka reports that"
  end

  def test_what_the_consumer_has_moved_is_left_out
    assert_equal [["offsets.none", {topic: "orders", partitions: [0, 2], place: :latest, messages: 4, may_seek: false}]], events("latest") { |place| place == ["orders", 1] }
    assert_empty(events("latest", committed: {0 => 9}) { true })
  end

  def test_a_consumer_that_may_seek_first_is_said
    assert events("latest", seeking: ["orders"]).dig(0, 1, :may_seek)
  end

  def test_what_is_committed_and_there_is_no_event
    assert_empty events("latest", committed: {0 => 3, 1 => 0, 2 => 1})
  end

  def test_what_is_committed_and_not_there
    assert_equal [["offsets.none", {topic: "orders", partitions: [1], place: :latest, messages: 1, may_seek: false}],
                  ["offsets.reset", {topic: "orders", partitions: {0 => [9, 3], 2 => [7, 1]}}]], events("latest", committed: {0 => 9, 2 => 7})
    assert_includes events("earliest"), ["offsets.reset", {topic: "orders", partitions: {0 => [9, 0], 2 => [7, 0]}}]
  end
end
