# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaSeekTest < GuildhallTest
  # Does not say where that is, for some calls.
  class Client < KafkaPartition::Client
    attr_accessor :unanswered

    def resolve(_topic, _partition, where)
      raise Rdkafka::RdkafkaError.new(-195) if @unanswered&.positive? && (@unanswered -= 1) # rubocop:disable Style/RaiseArgs -- it takes a code

      where
    end
  end

  def setup
    idle = Class.new(Guildhall::Kafka::Consumer) { def consume = nil }
    @kafka = KafkaPartition.new(idle, client: Client.new)
  end

  def test_moves_the_partition_in_the_listeners_thread
    @kafka.partition.seek(7)
    assert_nil @kafka.client.sought
    @kafka.deliver(0...3)
    @kafka.work
    assert_equal [7, 7], [@kafka.client.sought, @kafka.partition.read_to]
    assert_equal 7, @kafka.committed, "what came before it is void"
  end

  def test_is_tried_again_until_the_broker_answers
    @kafka.client.unanswered = 3
    @kafka.partition.seek(7)
    @kafka.work
    assert_equal [7, 3], [@kafka.client.sought, @kafka.application.errors.count { |one| one[1] == "seek" }]
  end

  def test_the_last_one_holds
    @kafka.client.unanswered = 1
    @kafka.partition.seek(7)
    @kafka.run_next
    @kafka.partition.seek(9)
    @kafka.work
    assert_equal 9, @kafka.client.sought
  end

  def test_refuses_what_is_no_place
    assert_raises(Guildhall::ArgumentError) { @kafka.partition.seek(-1) }
  end

  def test_what_was_not_done_is_reported_at_the_end
    @kafka.partition.seek(7)
    @kafka.partition.leave(:revoked)
    @kafka.work
    @kafka.partition.close
    assert_nil @kafka.client.sought
    assert_equal [Guildhall::Kafka::SeekError], @kafka.errors.map(&:class)
  end
end
