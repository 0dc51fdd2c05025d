# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaConsumerFlowTest < GuildhallTest
  # Notes what the partition is asked for.
  class Call
    attr_reader :asked, :producer

    def initialize(producer = nil)
      @asked = []
      @producer = producer
    end

    def pause(seconds) = @asked << [:pause, seconds]
    def next_offset = 100
    def seek(where) = @asked << [:seek, where]
  end

  def setup
    @call = Call.new
    @consumer = Guildhall::Kafka::Consumer.new
    @consumer.call = @call
  end

  def test_pauses_that_mean_the_same_in_karafka
    @consumer.pause
    @consumer.pause(:consecutive, 5)
    @consumer.pause(17, 0.5, true)
    assert_equal [[:pause, nil], [:pause, 5], [:seek, 17], [:pause, 0.5]], @call.asked
  end

  def test_a_pause_that_looks_like_milliseconds_is_refused_and_does_not_move_anything
    error = assert_raises(Guildhall::ArgumentError) { @consumer.pause(17, 10_000) }
    assert_equal "pause is in seconds: 10000 looks like milliseconds (write 10.0 for that, or 10000.0 if seconds are meant)", error.message
    [-1, "5", Float::NAN].each { |seconds| assert_raises(Guildhall::ArgumentError) { @consumer.pause(nil, seconds) } }
    assert_raises(Guildhall::ArgumentError) { @consumer.pause(nil, 5, false) }
    assert_empty @call.asked
  end

  # Seconds that were meant as such committed an offset beyond the partition's end, and paused it for ever.
  def test_a_pause_that_would_skip_messages_is_refused_and_does_not_move_anything
    error = assert_raises(Guildhall::ArgumentError) { @consumer.pause(10_000) }
    assert_match(/\Apause\(10000\) would skip the messages from offset 100 on: .* pause\(nil, 30\)/, error.message)
    assert_raises(Guildhall::ArgumentError) { @consumer.pause(101, 30) }
    assert_empty @call.asked
    @consumer.pause(100, 30)
    assert_equal [[:seek, 100], [:pause, 30]], @call.asked
  end

  def test_seeks_that_mean_the_same_in_karafka
    time = Time.at(0)
    [17, :latest, "earliest", time].each { |where| @consumer.seek(where) }
    @consumer.seek(3, true, reset_offset: true)
    assert_equal [17, :latest, :earliest, time, 3].map { |where| [:seek, where] }, @call.asked
  end

  def test_a_seek_that_means_something_else_is_refused
    assert_match(/reset_offset: false/, assert_raises(Guildhall::ArgumentError) { @consumer.seek(3, reset_offset: false) }.message)
    assert_match(/manual_seek: false/, assert_raises(Guildhall::ArgumentError) { @consumer.seek(3, false) }.message)
    assert_empty @call.asked
  end

  def test_a_consumer_produces_by_the_applications_producer
    producer = Class.new do
      %i[produce_async produce_sync produce_many_async produce_many_sync].each { |name| define_method(name) { |*args, **options| [name, args, options] } }
    end.new
    @consumer.call = Call.new(producer)
    assert_equal [:produce_async, [], {topic: "t", payload: "x"}], @consumer.produce_async(topic: "t", payload: "x")
    assert_equal [:produce_sync, [], {topic: "t"}], @consumer.produce_sync(topic: "t")
    assert_equal [:produce_many_async, [[{topic: "t"}]], {}], @consumer.produce_many_async([{topic: "t"}])
    assert_equal [:produce_many_sync, [[{topic: "t"}]], {}], @consumer.produce_many_sync([{topic: "t"}])
  end
end
