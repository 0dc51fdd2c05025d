# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaContentionTest < GuildhallTest
  # The time is what the test says.
  class Clock
    attr_accessor :now

    def initialize = @now = 0.0
  end

  # Which messages fail, one after the other => their counts; "-a" was consumed.
  TABLE = {
    "a a a a" => [1, 2, 3, 4],
    "a b a b a b" => [1, 1, 2, 2, 3, 3],
    "a b c a b c a b c" => [1, 1, 1, 2, 2, 2, 3, 3, 3],
    "a a b a c a" => [1, 2, 1, 3, 1, 4],
    "a b c d a b c d a b c d" => [1] * 12,
    "a b c a a d a a a" => [1, 1, 1, 2, 3, 1, 1, 1, 1],
    "a a b c d -b a a" => [1, 2, 1, 1, 1, 1, 2],
    "a b -b c -c d -d e -e a" => [1, 1, 1, 1, 1, 2],
    "a a -a a" => [1, 2, 1]
  }.freeze

  def setup
    @clock = Clock.new
    @contention = Guildhall::Kafka::Processing::Contention.new(clock: @clock)
  end

  def test_few_messages_are_the_cause_and_many_are_an_outage
    TABLE.each do |failures, counts|
      contention = Guildhall::Kafka::Processing::Contention.new(clock: @clock)
      assert_equal counts, failures.split.filter_map { |one| note(contention, one) }, failures
    end
  end

  def test_a_database_that_is_overloaded_for_long
    counts = Array.new(10_000) { |index| @contention.note(index % 5) }
    assert_equal [1], counts.uniq
    counts = Array.new(10_000) { |index| @contention.note(index) }
    assert_equal [1], counts.uniq
  end

  def test_what_is_not_heard_of_any_more_is_forgotten
    %w[a b c d].each { |one| @contention.note(one) }
    @clock.now += 3_601
    assert_equal [1, 2, 3], Array.new(3) { @contention.note("a") }
  end

  def test_no_more_is_remembered_than_there_is_room_for
    10_000.times { |index| @contention.note(index) }
    assert_operator @contention.instance_variable_get(:@failing).size, :<=, 100
  end

  private

  def note(contention, one)
    return contention.note(one) unless one.start_with?("-")

    contention.over([one.delete_prefix("-")])
    nil
  end
end
