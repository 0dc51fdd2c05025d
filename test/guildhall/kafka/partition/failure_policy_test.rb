# frozen_string_literal: true

require "test_helper"
require "support/kafka_records"
require "guildhall/kafka"

class KafkaFailurePolicyTest < GuildhallTest
  include KafkaRecords

  Policy = Guildhall::Kafka::Partition::FailurePolicy
  History = Policy::History

  class Hopeless < StandardError; end

  # Calls of `consume` with messages 10 to 19 that have raised. `alone`: the consumer has looked at the first one only.
  TOGETHER = {last_offset: 19, last_read: 19}.freeze
  ALONE = {last_offset: 19, last_read: 10}.freeze
  PASSING = {**ALONE, passing: true}.freeze
  UNMARKED = {**TOGETHER, unmarked: true}.freeze

  QUEUES = {
    none: proc {},
    two: proc { dead_letter_queue topic: "dead", max_retries: 2 },
    one: proc { dead_letter_queue topic: "dead", max_retries: 1 },
    zero: proc { dead_letter_queue topic: "dead", max_retries: 0 },
    all: proc { dead_letter_queue topic: "dead", max_retries: 1, strategy: :all },
    hopeless: proc do
      dead_letter_queue topic: "dead", max_retries: 5
      retries non_retryable: Hopeless
    end,
    asked: proc { dead_letter_queue topic: "dead", strategy: ->(_, attempt) { attempt < 2 ? :retry : :skip } },
    mistaken: proc { dead_letter_queue topic: "dead", strategy: ->(_, _) { false } },
    broken: proc { dead_letter_queue topic: "dead", strategy: ->(_, _) { raise Hopeless, "asked" } }
  }.freeze

  # Which route, what fails one after the other, and what is decided each time.
  TABLE = [
    [:none, [ALONE] * 4, %w[retry:1 retry:2 retry:3 retry:4]],
    [:none, [TOGETHER, ALONE, TOGETHER], %w[retry:1 retry:1 retry:3]],
    [:two, [ALONE] * 3, %w[retry:1 retry:2 dead:3]],
    [:two, [TOGETHER] * 3, %w[retry:1 retry:2 narrow]],
    [:one, [TOGETHER, TOGETHER, TOGETHER, ALONE, ALONE], %w[retry:1 narrow narrow retry:1 dead:2]],
    [:one, [{**ALONE, together: true}] * 2, %w[retry:1 narrow]],
    [:zero, [TOGETHER, ALONE], %w[narrow dead:1]],
    [:zero, [PASSING, PASSING, ALONE], %w[retry:1 retry:2 dead:1]],
    [:one, [ALONE, PASSING, PASSING, ALONE], %w[retry:1 retry:1 retry:2 dead:2]],
    [:all, [TOGETHER, TOGETHER], %w[retry:1 all:2]],
    [:all, [ALONE, ALONE], %w[retry:1 all:2]],
    [:hopeless, [{**TOGETHER, error: Hopeless.new}, {**ALONE, error: Hopeless.new}], %w[narrow dead:1]],
    [:asked, [TOGETHER, TOGETHER, TOGETHER, ALONE, ALONE], %w[retry:1 narrow narrow retry:1 skip:2]],
    [:mistaken, [ALONE, ALONE], %w[undecided:1 undecided:2]],
    [:broken, [TOGETHER, ALONE], %w[undecided:1 undecided:1]],
    [:none, [UNMARKED] * 2, %w[rewind:10:1 rewind:10:2]],
    [:one, [UNMARKED] * 3, %w[rewind:10:1 rewind:10:2:spent rewind:10:3:spent]],
    [:one, [UNMARKED, {**UNMARKED, passing: true}, UNMARKED], %w[rewind:10:1 rewind:10:1 rewind:10:2:spent]],
    [:two, [ALONE, {**ALONE, at: [0, 11], last_read: 11}, {**ALONE, at: [1, 11], last_read: 11}], %w[retry:1 retry:1 retry:1]]
  ].freeze

  def policy(queue) = Policy.new(route(&QUEUES.fetch(queue)))

  def failed(call = {}) = Policy::FailedCall.new(error: RuntimeError.new("no"), at: [0, 10], **call)

  # @return [Array<String>] decisions
  def decisions(policy, calls)
    history = Policy::NOTHING
    calls.map do |call|
      decision, history = decide(policy, failed(call), history)
      shown(decision)
    end
  end

  def decide(policy, call, history) = policy.decide(call, policy.note(call, history))

  def shown(decision)
    case decision
    when Policy::Retry then "retry:#{decision.failures}"
    when Policy::Narrow then "narrow"
    when Policy::DeadLetter then "#{decision.skip ? :skip : decision.all ? :all : :dead}:#{decision.attempts}"
    when Policy::Undecided then "undecided:#{decision.failures}"
    when Policy::Rewind then ["rewind", decision.offset, decision.failures, *(:spent if decision.spent)].join(":")
    end
  end

  def test_what_is_decided
    TABLE.each { |queue, calls, expected| assert_equal expected, decisions(policy(queue), calls), "#{queue}: #{calls}" }
  end

  def test_the_same_failure_and_history_give_the_same_decision
    policy = policy(:one)
    history = decide(policy, failed(TOGETHER), Policy::NOTHING).last
    assert_equal decide(policy, failed(TOGETHER), history), decide(policy, failed(TOGETHER), history)
    assert_predicate history, :frozen?
  end

  def test_a_message_that_its_consumer_cannot_decode
    error = Guildhall::Kafka::UndecodableMessageError.new("no job", codec: "job")
    {true => "dead:1", false => "retry:1"}.each do |at_once, expected|
      policy = Policy.new(route { dead_letter_queue topic: "dead", max_retries: 2, dispatch_undecodable: at_once })
      assert_equal [expected], decisions(policy, [{**ALONE, error:}])
    end
    assert_equal ["retry:1"], decisions(policy(:none), [{**ALONE, error:}])
  end

  def test_what_a_strategy_has_raised
    assert_equal ["asked", "the strategy of the dead letter queue has to answer :dispatch, :skip or :retry, not false"],
      %i[broken mistaken].map { |queue| decide(policy(queue), failed(ALONE), Policy::NOTHING).first.error.message }
  end

  def test_a_strategy_is_asked_for_each_failure_that_is_counted
    asked = []
    policy = Policy.new(route { dead_letter_queue topic: "dead", strategy: ->(errors, attempt) { asked << [errors.first.message, attempt] and :retry } })
    decisions(policy, [TOGETHER, PASSING, TOGETHER, ALONE])
    assert_equal [["no", 1], ["no", 2], ["no", 1]], asked
  end

  def test_attempts_belong_to_the_first_message_that_is_not_done
    history = decide(policy(:two), failed(ALONE), Policy::NOTHING).last
    assert_equal [2, 2, 1, 1], [history, history.moved_to([0, 10]), history.moved_to([0, 11]), history.moved_to([1, 10])].map(&:attempt)
  end

  def test_what_says_nothing_about_a_message_is_no_attempt
    history = decide(policy(:zero), failed(ALONE), Policy::NOTHING).last
    decision, history = policy(:zero).postponed([0, 10], history)
    assert_equal [1, 2], [decision.failures, history.attempt]
    assert_equal [1, 1], policy(:zero).postponed([0, 11], history).then { |again, after| [again.failures, after.attempt] }
  end

  def test_a_strategy_that_answers_an_error_is_reported_for_its_answer
    policy = Policy.new(route { dead_letter_queue topic: "dead", strategy: ->(errors, _) { errors.first } })
    assert_match(/has to answer .*, not #<RuntimeError: no>/, decide(policy, failed(ALONE), Policy::NOTHING).first.error.message)
  end

  # Handles messages as a partition does.
  # @return [Array(Integer, Array<Integer>)] how many calls it took, and which messages went to the dead letters
  def consume(count, bad, read: ->(call) { call.find { |offset| bad.include?(offset) } })
    policy = policy(:zero)
    history = Policy::NOTHING
    left = (0...count).to_a
    calls = 0
    dead = []
    until left.empty?
      history = history.passed(left.first)
      some = left.first(history.search ? history.search.size_of_next(left) : left.size)
      calls += 1
      next left -= some unless some.intersect?(bad)

      call = failed(at: [0, left.first], last_offset: some.last, last_read: read.call(some), at_hand: nil)
      decision, history = decide(policy, call, history)
      next if decision.is_a?(Policy::Narrow)

      dead << left.shift
    end
    [calls, dead]
  end

  def test_finds_the_messages_that_fail
    [[1, [0]], [2, [1]], [20, [7]], [500, [0]], [500, [250]], [500, [499]], [20, [3, 4, 19]], [9, [*0...9]]].each do |count, bad|
      assert_equal bad, consume(count, bad).last, "#{bad} of #{count}"
      assert_equal bad, consume(count, bad, read: :last.to_proc).last, "#{bad} of #{count}, with a consumer that looks ahead"
    end
  end

  def test_one_bad_message_costs_few_calls
    assert_equal 4, consume(500, [250]).first, "the one that was looked at last is suspected"
    [0, 250, 499].each { |bad| assert_operator consume(500, [bad], read: :last.to_proc).first, :<=, 12, bad }
  end

  def test_a_search_takes_all_where_nothing_is_known
    search = Policy::Search.new
    assert_equal 3, search.size_of_next([1, 2, 3])
    search = search.failed(3)
    assert_equal 1, search.size_of_next([1, 2, 3])
    assert_equal 2, search.passed(4).size_of_next([4, 5])
  end
end
