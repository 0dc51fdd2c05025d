# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaOffsetStoreTest < GuildhallTest
  def setup
    @client = KafkaPartition::Client.new
    @store = Guildhall::Kafka::Partition::OffsetStore.new(@client, "t", 1)
  end

  def test_hands_offset_and_metadata_to_the_client
    assert @store.write(5, "note")
    assert_equal [[5, "note"]], @client.stored
    assert_empty @client.committed_to
  end

  def test_after_a_rewind_the_first_offset_is_committed_by_itself
    @store.rewind
    @store.write(2)
    @store.write(3)
    assert_equal [[2, nil]], @client.committed_to, "librdkafka commits by itself only what grows"
  end

  def test_metadata_that_changes_beside_an_offset_is_committed_by_itself
    @store.write(5, "a")
    assert_equal [[5, "a"]], @client.renewed, "it may be the committed one"
    @store.write(5, "a")
    @store.write(5, "b")
    assert_equal [[5, "a"], [5, "b"]], @client.renewed, "librdkafka commits by itself only other offsets"
    @store.write(6, "c")
    assert_empty @client.renewed
  end

  def test_what_is_dismissed_is_not_committed
    @store.write(5)
    @store.dismiss
    assert_equal Guildhall::Kafka::Broker::Librdkafka::NO_OFFSET, @client.stored.last.first
  end
end
