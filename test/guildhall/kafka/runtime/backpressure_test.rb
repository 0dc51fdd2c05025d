# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaInFlightTest < GuildhallTest
  # As much of a batch as counts.
  Batch = Data.define(:records, :bytes)

  def setup
    @config = Guildhall::Kafka::Config.new
    @config.concurrency = 1
    @config.max_messages = 10
    @config.max_bytes = 100
    @reported = 0
  end

  def test_room_is_for_all_and_a_refused_reader_is_notified_once
    flight = backpressure(messages: 40, bytes: 1_000)
    assert_equal [40, 1_000], flight.room
    flight.add(batch(30, 200))
    assert_equal [10, 800], flight.room
    flight.add(batch(1, 900))
    assert_equal [31, 1_100], [flight.messages, flight.bytes]
    assert_equal [0, 0], flight.room
    flight.remove(batch(1, 50))
    assert_equal 0, @reported, "there is still no room"
    flight.remove(batch(10, 850))
    assert_equal 1, @reported
    flight.remove(batch(10, 100))
    assert_equal 1, @reported, "nobody has asked since"
    assert_equal [30, 900], flight.room
  end

  def test_unless_told_there_is_room_for_what_the_runners_need
    assert_equal [100_000, 268_435_456], limits(backpressure)
    @config.concurrency = 100
    @config.max_messages = 1_000
    @config.max_bytes = 1_048_576
    assert_equal [301_000, 301 * 1_048_576], limits(backpressure)
  end

  def test_a_partition_that_rests_holds_nothing
    flight = backpressure(messages: 40, bytes: 400)
    backlog = Guildhall::Kafka::Partition::Backlog.new(flight, Struct.new(:max_messages, :max_bytes).new, @config)
    2.times { backlog << batch(10, 100) }
    assert_equal [20, 200], [flight.messages, flight.bytes]
    backlog.allow(false, true)
    backlog << batch(5, 50)
    backlog.shift
    assert_equal [0, 0], [flight.messages, flight.bytes]
    backlog.allow(false, true)
    backlog.allow(true, false)
    assert_equal [15, 150], [flight.messages, flight.bytes]
    backlog.clear
    assert_equal [0, 0, true, nil], [flight.messages, flight.bytes, backlog.empty?, backlog.shift]
  end

  private

  def backpressure(messages: nil, bytes: nil)
    @config.max_bytes_in_flight = bytes
    Guildhall::Kafka::Runtime::Backpressure.new(@config, [], max_messages: messages) { @reported += 1 }
  end

  def limits(flight)
    [flight.max_messages, flight.max_bytes]
  end

  def batch(size, bytes)
    Batch.new(Array.new(size), bytes)
  end
end
