# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

# When a message for later is due.
class KafkaDelayedProducingTest < GuildhallTest
  # Notes what is produced at once.
  class Producer
    include Guildhall::Kafka::Delaying::DelayedProducing

    def produce_sync(message) = message
  end

  # As Active Support has it.
  class TimeInWords < String
    def to_time = Time.utc(2026, 12, 24, 18)
  end

  def produce(at)
    producer = Producer.new
    producer.delay_topics = -> { Guildhall::Kafka::Delaying::DelayTopics.new(prefix: "later", delays: [1]) }
    producer.produce_later(at:, topic: "t", payload: "x")
  end

  def test_a_time_that_is_past_is_at_once
    [Time.now - 1, Time.now.to_i - 5, Time.now.to_r - 5, Time.at(0)].each { |at| assert_equal "t", produce(at)[:topic] }
  end

  def test_what_is_no_time_is_refused
    milliseconds = (Time.now.to_f * 1000).to_i
    {Float::NAN => "at must be a Time or seconds since 1970", Float::INFINITY => "at must be a Time or seconds since 1970", nil => "at must be a Time or seconds since 1970", "2026-12-24" => "at must be a Time or seconds since 1970", 2i => "at must be a Time or seconds since 1970",
     TimeInWords.new("2026-12-24 18:00") => "at must be a Time or seconds since 1970", milliseconds => "looks like milliseconds",
     60 => "is a time in 1970; from now on: Time.now + 60", -5 => "is a time in 19"}.each do |at, text|
      assert_includes assert_raises(Guildhall::ArgumentError) { produce(at) }.message, text
    end
  end
end
