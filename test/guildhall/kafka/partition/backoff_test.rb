# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaBackoffTest < GuildhallTest
  NONE = Guildhall::Kafka::Routing::Retries.new

  def backoff(retries = NONE)
    config = Guildhall::Kafka::Config.new
    config.pause_timeout = 1
    config.pause_max_timeout = 10
    Guildhall::Kafka::Partition::Backoff.new(config, retries)
  end

  def test_pauses_double_up_to_the_longest_with_jitter
    [[1, 1], [2, 2], [3, 4], [4, 8], [5, 10], [10_000, 10]].each do |failures, seconds|
      pauses = Array.new(50) { backoff.seconds(failures) }
      pauses.each { |pause| assert_in_delta seconds, pause, seconds * 0.2001 }
      assert_operator pauses.uniq.size, :>, 1
    end
  end

  def test_a_topic_may_have_its_own
    retries = Guildhall::Kafka::Routing::Retries.new(pause_timeout: 3, pause_max_timeout: 5)
    [[1, 3], [2, 5], [9, 5]].each { |failures, seconds| assert_in_delta seconds, backoff(retries).seconds(failures), seconds * 0.201 }
  end

  def test_the_pause_is_always_the_same_where_the_longest_is_as_long
    retries = Guildhall::Kafka::Routing::Retries.new(pause_timeout: 3, pause_max_timeout: 3)
    assert_in_delta 3, backoff(retries).seconds(9), 0.61
  end
end
