# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaBackoffTest < GuildhallTest
  NONE = Guildhall::Kafka::Routing::Retries.new(nil, nil, nil, [])

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
    retries = Guildhall::Kafka::Routing::Retries.new(3, 5, false, [])
    assert_in_delta 3, backoff(retries).seconds(9), 0.61
  end
end
