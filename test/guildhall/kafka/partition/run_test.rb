# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

# What runners do for a partition; partition_test.rb shows what comes of failures.
class KafkaRunTest < GuildhallTest
  # Notes what it is called with; fails where it is told to.
  class Noting < Guildhall::Kafka::Consumer
    CALLS = [] # rubocop:disable Style/MutableConstant -- of a test
    FAILING = [] # rubocop:disable Style/MutableConstant -- of a test

    def consume = note(:consume)
    def tick = note(:tick)
    def revoked = note(:revoked)

    private

    def note(name)
      CALLS << name
      raise "no #{name}" if FAILING.include?(name)
    end
  end

  def setup
    [Noting::CALLS, Noting::FAILING].each(&:clear)
    @kafka = KafkaPartition.new(Noting)
    @partition = @kafka.partition
  end

  def events(name) = @kafka.application.events.filter_map { |event, payload| payload if event == name }

  def test_a_batch_that_was_consumed_is_published_and_done
    @kafka.deliver(3...7).work
    assert_equal({group: "group", topic: "t", partition: 0, size: 4, read: 4, dropped: 0, bytes: 4, last_offset: 6},
      events("consumer.consumed").first.except(:seconds, :waited))
    assert_equal [[:consume], 7, 1], [Noting::CALLS, @kafka.committed, @partition.attempt]
  end

  # A consumer that had marked 490 of 500 messages before it raised was counted as one of 10.
  def test_messages_that_were_marked_before_the_error_are_counted_once
    calls = 0
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        messages.each_marking { |message| raise "once" if message.offset == 8 && (calls += 1) == 1 }
      end
    end
    kafka = KafkaPartition.new(consumer)
    kafka.deliver(0...10).work
    assert_equal [[8, 8, 0], [2, 10, 10]], consumed(kafka)
  end

  def consumed(kafka)
    kafka.application.events.filter_map { |event, payload| payload.values_at(:size, :read, :bytes) if event == "consumer.consumed" }
  end

  # What a call left is delivered, and counted, again.
  def test_messages_that_a_call_leaves_are_counted_once
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      def consume
        mark_as_consumed(messages.first)
        redeliver_unmarked
      end
    end
    kafka = KafkaPartition.new(consumer)
    kafka.deliver(0...3).work
    assert_equal [1, 1, 1], consumed(kafka).map(&:first)
  end

  def test_an_error_is_reported_with_the_partition_and_the_messages
    Noting::FAILING << :consume
    kafka = KafkaPartition.new(Noting, pause_timeout: 60, pause_max_timeout: 60)
    kafka.deliver(3...7).work_now
    error, type, payload = kafka.application.errors.first
    assert_equal ["no consume", "consumer.consume", "t", 0, 1, 3, 6],
      [error.message, type, *payload.values_at(:topic, :partition, :attempt, :first_offset, :last_offset)]
    assert_equal 2, kafka.partition.attempt
  end

  def test_an_event_that_fails_is_reported_and_holds_up_nothing
    Noting::FAILING << :tick
    @partition.notify(:tick)
    @kafka.deliver(0...2).work
    assert_equal [%i[tick consume], ["no tick"], ["consumer.tick"], 2],
      [Noting::CALLS, @kafka.errors.map(&:message), @kafka.application.errors.map { |_, type,| type }, @kafka.committed]
  end

  def test_the_end_reaches_consumers_that_there_are
    @partition.leave(:revoked)
    @kafka.work
    assert_equal [[], 1], [Noting::CALLS, events("consumer.revoked").size]
    assert @partition.wait(Guildhall::Clock.now)
  end

  def test_an_end_that_fails_ends_the_partition_all_the_same
    @kafka.deliver(0...2).work
    Noting::FAILING << :revoked
    @partition.leave(:revoked)
    @kafka.work
    assert_equal [%i[consume revoked], ["no revoked"]], [Noting::CALLS, @kafka.errors.map(&:message)]
    assert @partition.wait(Guildhall::Clock.now)
  end
end
