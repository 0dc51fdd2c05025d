# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaPauseTest < GuildhallTest
  def setup
    @timer = KafkaPartition.timer
    @ended = 0
    @pause = Guildhall::Kafka::Partition::Pause.new(@timer) do |reason, rest|
      @ended += 1
      @pause.finish(reason, rest)
    end
  end

  def test_rests_while_any_reason_holds
    @pause.start(:user)
    @pause.start(:backoff, 60)
    @pause.start(:quiet)
    assert_equal %i[user backoff quiet], @pause.reasons
    @pause.finish(:user)
    assert_equal %i[backoff quiet], @pause.reasons
    @pause.finish(:backoff)
    assert_predicate @pause, :active?
    @pause.finish(:quiet)
    refute_predicate @pause, :active?
  end

  def test_a_back_off_that_ends_leaves_the_others
    @pause.start(:user)
    @pause.start(:backoff, 0.001)
    assert @timer.pass
    assert_equal [[:user], 1], [@pause.reasons, @ended]
  end

  def test_it_tells_only_of_a_time_that_is_over
    told = []
    @pause.start(:user, 0.001) { told << 1 }
    @pause.start(:user, 0.001) { told << 2 }
    2.times { @timer.pass }
    @pause.start(:user, 0.001) { told << 3 }
    @pause.finish(:user)
    @timer.pass
    assert_equal [2], told
  end

  def test_another_pause_for_the_same_reason_takes_its_place
    @pause.start(:user, 0.001)
    @pause.start(:user)
    refute @timer.pass, "the first one's alarm"
    assert_equal [:user], @pause.reasons
  end

  def test_all_of_them_end_with_the_partition
    @pause.start(:user, 60)
    @pause.start(:quiet)
    @pause.finish_all
    refute_predicate @pause, :active?
    refute @timer.pass
  end

  def test_what_never_began_ends_without_harm
    @pause.finish(:user)
    assert_empty @pause.reasons
  end
end
