# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaOffsetsTest < GuildhallTest
  # Remembers what was stored.
  class Client
    attr_reader :stored, :committed

    def initialize
      @stored = []
      @committed = []
    end

    def store(*arguments) = !!(@stored << arguments)
    def commit_to(*arguments) = @committed << arguments
    def commit = true
  end

  def setup
    @client = Client.new
    @offsets = Guildhall::Kafka::Offsets.new(@client, "t", 1)
  end

  def test_offsets_only_grow
    assert @offsets.store(5)
    assert @offsets.store(3)
    assert @offsets.store(7)
    assert_equal [["t", 1, 5, nil], ["t", 1, 7, nil]], @client.stored
    assert_equal 7, @offsets.following
  end

  def test_metadata_is_stored_without_going_back
    @offsets.store(5)
    @offsets.store(4, "note")
    assert_equal ["t", 1, 5, "note"], @client.stored.last
  end

  def test_after_a_rewind_they_may_be_lower
    @offsets.store(5)
    @offsets.rewind
    @offsets.store(2)
    assert_equal 2, @client.stored.last[2]
    @offsets.store(3)
    assert_equal [["t", 1, 2, nil]], @client.committed, "librdkafka commits by itself only what grows"
  end

  def test_what_is_dismissed_at_the_end_is_not_committed
    @offsets.store(5)
    @offsets.close(dismiss: true)
    assert_equal ["t", 1, Guildhall::Kafka::Librdkafka::NO_OFFSET], @client.stored.last
    refute @offsets.store(6)
  end

  def test_nothing_is_stored_for_a_partition_that_is_gone
    @offsets.close
    refute @offsets.store(5)
    refute @offsets.commit
    assert_empty @client.stored
  end
end
