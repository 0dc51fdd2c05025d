# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaContentionTest < GuildhallTest
  # The time is what the test says.
  class Clock
    attr_accessor :now

    def initialize = @now = 0.0
  end

  # Which messages fail, one after the other => their counts; "-a" was consumed, "+" another one of their topic.
  TABLE = {
    "a a a a" => [1, 2, 3, 4],
    "a b a b a b" => [1, 0, 1, 0, 1, 0],
    "a b + a b + a b" => [1, 0, 2, 1, 3, 2],
    "a b + c + a + b + c a b c" => [1, 0, 0, 2, 1, 1, 3, 2, 1],
    "a a b a" => [1, 2, 0, 2],
    "a + b + c + d + a + b + c + d" => [1, 0, 0, 0, 0, 0, 0, 0],
    "a a b c d -b -c -d a a" => [1, 2, 0, 0, 0, 1, 2],
    "a a -a a" => [1, 2, 1]
  }.freeze

  def setup
    @clock = Clock.new
    @contention = Guildhall::Kafka::Runtime::Contention.new(clock: @clock)
  end

  # What another topic does says nothing of this one.
  def test_another_topic_goes_on
    counts = Array.new(10) do |index|
      @clock.now += 1
      @contention.consumed("u")
      @contention.note(index % 2, "t")
    end
    assert_equal 1, counts.max
  end

  def test_few_messages_are_the_cause_and_many_are_an_outage
    TABLE.each do |failures, counts|
      contention = Guildhall::Kafka::Runtime::Contention.new(clock: @clock)
      assert_equal counts, failures.split.filter_map { |one| note(contention, one) }, failures
    end
  end

  def test_a_database_that_is_overloaded_for_long
    counts = Array.new(10_000) { |index| @contention.note(index % 5, "t") }
    assert_equal 1, counts.max
    counts = Array.new(10_000) { |index| @contention.note(index, "t") }
    assert_equal 0, counts.max
  end

  def test_what_is_not_heard_of_any_more_is_forgotten
    %w[a b c d].each { |one| @contention.note(one, "t") }
    @clock.now += 3_601
    assert_equal [1, 2, 3], Array.new(3) { @contention.note("a", "t") }
  end

  def test_no_more_is_remembered_than_there_is_room_for
    10_000.times { |index| @contention.note(index, "t") }
    assert_operator @contention.instance_variable_get(:@failing).size, :<=, 100
  end

  private

  def note(contention, one)
    @clock.now += 1
    return contention.consumed("t") && nil if one == "+"
    return contention.note(one, "t") unless one.start_with?("-")

    contention.over([one.delete_prefix("-")])
    nil
  end
end
