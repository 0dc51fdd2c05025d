# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

# Time is given: what is decided depends on nothing else.
class KafkaScalingTest < GuildhallTest
  Multiplexing = Guildhall::Kafka::Routing::Multiplexing

  def setup
    @scaling = Guildhall::Kafka::Group::Members::Scaling.new(Multiplexing.new(size: 2..4, lag: 10, grow_after: 30, shrink_after: 600))
  end

  # @param seconds [Array<Integer>] when it was asked
  # @return [Array<Integer>] what it answered
  def changes(seconds, lag:, members: 2, partitions: 8)
    seconds.map { |now| @scaling.change(members, partitions, lag, now:) }
  end

  def test_grows_once_it_was_behind_for_long_enough
    assert_equal [0, 0, 1], changes([0, 29, 30], lag: 11)
  end

  def test_the_time_starts_again_with_each_change
    assert_equal [0, 1, 0, 0, 1], changes([0, 30, 35, 59, 60], lag: 11)
  end

  def test_the_time_starts_again_where_it_was_caught_up_meanwhile
    changes([0, 25], lag: 11)
    changes([28], lag: 10)
    assert_equal [0, 0, 1], changes([29, 58, 59], lag: 11)
  end

  def test_never_more_than_there_may_be_nor_than_there_are_partitions
    assert_equal [0, 0], changes([0, 100], lag: 11, members: 4)
    assert_equal [0, 0], changes([200, 300], lag: 11, members: 2, partitions: 2)
    assert_equal [1], changes([301], lag: 11, members: 2, partitions: 3)
  end

  def test_shrinks_slowly_and_never_below_the_minimum
    assert_equal [0, 0, -1, 0, -1], changes([0, 599, 600, 1199, 1200], lag: 0.0, members: 4)
    assert_equal [0], changes([9_999], lag: 0.0, members: 2)
  end
end
