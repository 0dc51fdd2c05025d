# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaPartitionStateTest < GuildhallTest
  def setup
    @state = Guildhall::Kafka::Partition::State.new
  end

  def test_a_seek_begins_and_ends
    assert_predicate @state, :assigned?
    assert @state.seek
    assert_equal [:seeking, true, false], [@state.name, @state.seeking?, @state.assigned?]
    assert @state.sought
    assert_predicate @state, :assigned?
    refute @state.sought, "there is no seek to end"
  end

  def test_it_leaves_for_one_reason
    @state.leave(:revoked)
    @state.leave(:shutdown)
    assert_equal [:leaving, :revoked, "revoked"], [@state.name, @state.reason, @state.to_s]
    refute @state.seek
    refute @state.sought
    refute_predicate @state, :left?
    @state.left
    assert_equal [true, true, "left"], [@state.left?, @state.leaving?, @state.to_s]
  end

  def test_a_seek_does_not_outlast_the_assignment
    @state.seek
    @state.leave(:shutdown)
    refute_predicate @state, :seeking?
    refute @state.sought
    assert_equal :leaving, @state.name
  end
end
