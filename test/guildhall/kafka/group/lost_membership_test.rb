# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

# When a client that has lost its partitions has to be replaced.
class KafkaLostMembershipTest < GuildhallTest
  LostMembership = Guildhall::Kafka::Group::LostMembership
  Client = Struct.new(:pending, :topics, :questions) do
    def commit_overdue?(seconds) = pending > seconds

    def topic_names(_milliseconds)
      self.questions += 1
      topics
    end
  end
  FakeClock = Struct.new(:now)

  def setup
    @client = Client.new(0, ["t"], 0)
    @clock = FakeClock.new(100.0)
    @membership = LostMembership.new(@client, {"session.timeout.ms": 6_000}, clock: @clock)
  end

  def after(seconds)
    @clock.now += seconds
    [@membership.suspected?, @membership.reason]
  end

  def test_without_a_loss_nothing_is_asked
    assert_equal [[false, nil], 0], [after(1_000), @client.questions]
  end

  def test_the_session_timeout_and_a_while_pass_first
    @client.topics = nil
    @membership.lost
    assert_equal [[false, nil], 0], [after(10), @client.questions]
    assert_equal [true, LostMembership::NO_BROKER], after(2)
  end

  def test_while_a_broker_answers_the_group_is_waited_for
    @membership.lost
    assert_equal [[true, nil], 1], [after(12), @client.questions]
    assert_equal [[false, nil], 1], [after(10), @client.questions]
    assert_equal [[true, nil], 2], [after(2), @client.questions]
  end

  def test_an_assignment_ends_it
    @client.topics = nil
    @membership.lost
    @membership.assigned
    assert_equal [[false, nil], 0], [after(1_000), @client.questions]
  end

  def test_a_commit_that_is_never_answered
    @client.pending = 10.9
    assert_equal [false, nil], after(0)
    @client.pending = 11.1
    assert_equal [[true, LostMembership::COMMIT_STUCK], 0], [after(0), @client.questions]
  end

  def test_librdkafkas_session_timeout_is_the_default
    membership = LostMembership.new(@client, {}, clock: @clock)
    @client.pending = 49
    refute_predicate membership, :suspected?
    @client.pending = 51
    assert_predicate membership, :suspected?
  end
end
