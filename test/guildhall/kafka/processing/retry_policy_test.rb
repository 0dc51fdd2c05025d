# frozen_string_literal: true

require "test_helper"
require "sqlite3"
require "support/kafka_records"
require "guildhall/kafka"

class KafkaRetryPolicyTest < GuildhallTest
  include KafkaRecords

  class Hopeless < StandardError; end

  def policy(&settings)
    config = Guildhall::Kafka::Config.new
    config.pause_timeout = 1
    config.pause_max_timeout = 4
    Guildhall::Kafka::Processing::RetryPolicy.new(route(&settings), config)
  end

  def actions(policy, *calls)
    calls.map { |call| policy.failed(call.fetch(:error, RuntimeError.new), at: 1, alone: false, **call.except(:error)).action }
  end

  def test_without_a_dead_letter_queue_it_is_tried_until_it_works
    policy = policy()
    assert_equal [:retry] * 20, actions(policy, *Array.new(20) { {alone: true} })
    assert_equal 21, policy.attempt(1)
  end

  def test_pauses_grow
    policy = policy()
    pauses = Array.new(4) { policy.failed(RuntimeError.new, at: 1, alone: true).seconds }
    [1, 2, 4, 4].zip(pauses) { |expected, pause| assert_in_delta expected, pause, expected * 0.21 }
  end

  def test_one_message_alone_goes_to_the_dead_letters_after_its_retries
    policy = policy { dead_letter_queue topic: "dead", max_retries: 2 }
    assert_equal %i[retry retry dispatch], actions(policy, {alone: true}, {alone: true}, {alone: true})
    assert_equal [3, 3], [policy.failures, policy.failures_alone]
  end

  def test_a_message_that_its_consumer_cannot_decode
    undecodable = {error: Guildhall::Kafka::UndecodableMessageError.new("no job", codec: "job"), alone: true}
    {true => :dispatch, false => :retry}.each do |at_once, action|
      policy = policy { dead_letter_queue topic: "dead", max_retries: 2, dispatch_undecodable: at_once }
      assert_equal [action], actions(policy, undecodable)
    end
    assert_equal [:retry], actions(policy, undecodable)
  end

  def test_several_messages_are_isolated_then_the_one_has_its_own_attempts
    policy = policy { dead_letter_queue topic: "dead", max_retries: 1 }
    assert_equal %i[retry isolate], actions(policy, {}, {})
    assert_equal %i[isolate isolate], actions(policy, {isolating: true}, {isolating: true})
    assert_equal %i[retry dispatch], actions(policy, {alone: true, isolating: true}, {alone: true, isolating: true})
    assert_equal 2, policy.failures_alone
  end

  def test_attempts_belong_to_the_first_message_that_is_not_done
    policy = policy { dead_letter_queue topic: "dead", max_retries: 1 }
    assert_equal :retry, policy.failed(RuntimeError.new, at: 1, alone: true).action
    assert_equal [2, 1], [policy.attempt(1), policy.attempt(2)]
    assert_equal :retry, policy.failed(RuntimeError.new, at: 2, alone: true).action
  end

  def test_without_retries_it_is_isolated_at_once
    policy = policy { dead_letter_queue topic: "dead", max_retries: 0 }
    assert_equal %i[isolate dispatch], actions(policy, {}, {alone: true})
  end

  def test_non_retryable_errors_spend_the_retries
    policy = policy do
      dead_letter_queue topic: "dead", max_retries: 5
      retries non_retryable: [Hopeless, Errno::ENOENT]
    end
    assert_equal %i[isolate dispatch], actions(policy, {error: Hopeless.new}, {error: Hopeless.new, alone: true})
    assert_equal [:dispatch], actions(policy, {error: Errno::ENOENT.new, alone: true}), "named by the route, it is no outage"
  end

  def test_outages_are_retried_for_as_long_as_they_last
    policy = policy { dead_letter_queue topic: "dead", max_retries: 0 }
    decisions = Array.new(10) { policy.failed(Errno::ECONNREFUSED.new, at: 1, alone: true) }
    assert_equal [:retry], decisions.map(&:action).uniq
    assert_operator decisions.last.seconds, :>, decisions.first.seconds
    assert_equal [1, 0], [policy.attempt(1), policy.failures]
    assert_equal [:dispatch], actions(policy, {alone: true})
  end

  def test_contention_is_an_outage_while_different_messages_have_it
    policies = contended_partitions(4)
    20.times { assert_equal [:retry] * 4, policies.map { |policy| policy.failed(deadlock, at: 1, alone: true).action } }
    assert_equal [1] * 4, policies.map { |policy| policy.attempt(1) }
    40.times { |at| assert_equal :retry, policies.first.failed(deadlock, at:, alone: true).action }
  end

  def test_messages_on_two_partitions_are_taken_for_the_cause_while_a_third_goes_on
    *failing, third = contended_partitions(3)
    rounds = lambda do |&between|
      Array.new(6) do
        between&.call
        failing.map { |policy| policy.failed(deadlock, at: 1, alone: true).action }
      end
    end
    assert_equal [%i[retry retry]], rounds.call.uniq, "nothing is consumed: it may be the database"
    assert_equal %i[dispatch dispatch], rounds.call { third.progress(nil) }.last
  end

  # Where one after the other is given up, the database is at fault.
  def test_one_that_was_given_up_fails_until_the_next_is_consumed
    {nothing: 1, progress: 6}.each do |between, expected|
      policy = contended_partitions(1).first
      given_up = (1..6).count do |at|
        policy.progress(at) if between == :progress
        Array.new(4) { policy.failed(deadlock, at:, alone: true).action }.include?(:dispatch)
      end
      assert_equal expected, given_up, between
    end
  end

  def contended_partitions(count)
    contention = Guildhall::Kafka::Processing::Contention.new
    Array.new(count) { |number| contended("t/#{number}", contention) }
  end

  def test_a_message_that_has_it_alone_for_long_is_taken_for_the_cause
    policy = contended("t/0", Guildhall::Kafka::Processing::Contention.new)
    assert_equal [*[:retry] * 3, :dispatch], Array.new(4) { policy.failed(deadlock, at: 1, alone: true).action }
    policy = contended("t/0", Guildhall::Kafka::Processing::Contention.new)
    assert_equal [*[:retry] * 3, :isolate], Array.new(4) { policy.failed(deadlock, at: 1, alone: false).action }
  end

  def contended(place, contention)
    config = Guildhall::Kafka::Config.new
    topic = route do
      dead_letter_queue topic: "dead", max_retries: 1
      retries contention_limit: 3
    end
    Guildhall::Kafka::Processing::RetryPolicy.new(topic, config, place, contention)
  end

  def deadlock = SQLite3::BusyException.new("database is locked")

  def test_what_says_nothing_about_a_message_is_not_counted
    policy = policy { dead_letter_queue topic: "dead", max_retries: 0 }
    assert_equal [:retry, 1], [policy.postponed(1).action, policy.attempt(1)]
  end

  def test_all_goes_without_isolation
    policy = policy { dead_letter_queue topic: "dead", max_retries: 1, strategy: :all }
    assert_equal %i[retry dispatch_all], actions(policy, {}, {})
  end

  def test_a_strategy_is_asked_for_each_failure_that_is_counted
    asked = []
    policy = policy do
      dead_letter_queue topic: "dead", strategy: ->(errors, attempt) { asked << [errors.first.message, attempt] and (attempt < 2 ? :retry : :skip) }
    end
    error = RuntimeError.new("no")
    assert_equal %i[retry isolate isolate retry skip],
      actions(policy, {error:}, {error:}, {error:, isolating: true}, {error:, alone: true}, {error:, alone: true})
    assert_equal [["no", 1], ["no", 2], ["no", 1], ["no", 2]], asked
  end

  def test_a_strategy_that_answers_something_else_is_an_error
    policy = policy { dead_letter_queue topic: "dead", strategy: ->(_, _) { false } }
    error = assert_raises(Guildhall::Error) { policy.failed(RuntimeError.new, at: 1, alone: true) }
    assert_match(/:dispatch, :skip or :retry, not false/, error.message)
  end
end
