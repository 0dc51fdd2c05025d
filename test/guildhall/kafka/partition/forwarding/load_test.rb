# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaForwardingLoadTest < GuildhallTest
  Message = Data.define(:topic, :partition, :offset, :batch)
  Batch = Struct.new(:generation)

  # Of a broker: answers each wait with what is next, an error or nil; at last it has arrived.
  class Handle
    def initialize(*answers) = @answers = answers
    def await(*) = @answers.shift&.then { |error| raise error }
  end

  LATE = Guildhall::TimeoutError.new("late")
  LOST = Guildhall::Kafka::ProduceError.new(-192, "other")

  # Answers each message with the next of its handles.
  class Client
    attr_reader :sent, :asked

    # @param handles [Hash{String=>Array<Handle>}] by payload
    # @yield answers how many partitions there are
    def initialize(handles = {}, &count)
      @handles = handles
      @sent = []
      @asked = Thread::Queue.new
      @count = count
    end

    def partition_count(topic)
      @asked << topic
      @count.call
    end

    def start(message)
      @sent << message.values_at(:payload, :partition).compact
      @handles[message[:payload]]&.shift || Handle.new
    end
  end

  def load(*records)
    batch = Batch.new(0)
    parcels = records.each_with_index.map do |(payload, key), offset|
      Guildhall::Kafka::Partition::Forwarding::Parcel.new(Message.new("t", 4, offset, batch), {topic: "other", payload:, key:}.compact)
    end
    Guildhall::Kafka::Partition::Forwarding::Load.new(parcels, KafkaPartition::Runtime.allocate)
  end

  # @param seconds [Numeric] how long it may last; where it has to end for another reason, more than a test would wait
  def undelivered(load, client, seconds = 0, give_up: -> { false })
    assert_raises(Guildhall::Kafka::ForwardingError) { load.deliver_by(client, Guildhall::Clock.now + seconds, give_up) }
  end

  def deliver(load, client) = load.deliver_by(client, Guildhall::Clock.now + 60)

  def test_what_is_on_its_way_behind_a_failure_is_sent_again_after_it
    client = Client.new({"0" => [Handle.new(LOST)], "1" => [Handle.new(LATE)]})
    load = load(%w[0 a], %w[1 a], %w[2 b])
    refute_predicate undelivered(load, client).reason, :empty?
    deliver(load, client)
    assert_equal [%w[0], %w[1], %w[2], %w[0], %w[1]], client.sent
    assert_nil load.first
  end

  def test_nothing_is_sent_while_what_is_behind_a_failure_may_still_arrive
    client = Client.new({"0" => [Handle.new(LOST)], "1" => [Handle.new(LATE, LATE)]})
    load = load(%w[0 a], %w[1 a])
    2.times { assert_match(/timed/i, undelivered(load, client).reason) }
    assert_equal [%w[0], %w[1]], client.sent
    deliver(load, client)
    assert_equal [%w[0], %w[1], %w[0], %w[1]], client.sent
  end

  def test_what_has_failed_behind_a_failure_too_is_sent_again_once
    client = Client.new({"0" => [Handle.new(LOST)], "1" => [Handle.new(LATE, LOST)]})
    load = load(%w[0 a], %w[1 a])
    undelivered(load, client)
    deliver(load, client)
    assert_equal [%w[0], %w[1], %w[0], %w[1]], client.sent
  end

  def test_a_missing_topic_is_waited_for
    count = -1 # what the gem answers then
    client = Client.new { count }
    load = load(%w[x])
    error = undelivered(load, client, 60)
    assert_match(/create topic other/, error.reason)
    assert_empty client.sent
    count = 6
    deliver(load, client)
    assert_equal [["x", 4]], client.sent
  end

  def test_a_topic_is_asked_for_once_in_a_call
    client = Client.new { 3 }
    deliver(load(%w[x], %w[y], %w[z]), client)
    assert_equal [1, [["x", 1], ["y", 1], ["z", 1]]], [client.asked.size, client.sent]
  end

  def test_brokers_that_do_not_answer_are_asked_once_and_the_next_attempt_waits_for_that_answer
    answer = Thread::Queue.new
    client = Client.new { answer.pop }
    load = load(%w[x], %w[y], %w[z])
    2.times { assert_match(/how many partitions/, undelivered(load, client, 0.01).reason) }
    assert_empty client.sent
    answer << 3
    deliver(load, client)
    assert_equal [1, 3], [client.asked.size, client.sent.size]
  ensure
    answer.close
  end

  def test_a_question_that_is_on_its_way_keeps_no_partition_from_being_left
    answer = Thread::Queue.new
    client = Client.new { answer.pop }
    asked = 0
    undelivered(load(%w[x], %w[y], %w[z k]), client, 3600, give_up: -> { (asked += 1) > 1 })
    assert_empty client.sent, "nothing more is sent"
  ensure
    answer << 1
  end

  def test_an_error_that_is_not_the_brokers_is_raised
    load = load(%w[x])
    error = assert_raises(IOError) { deliver(load, Client.new { raise IOError, "closed" }) }
    assert_equal "closed", error.message
    deliver(load, Client.new { 1 })
  end
end
