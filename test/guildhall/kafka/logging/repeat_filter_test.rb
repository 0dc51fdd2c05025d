# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaLoggingRepeatFilterTest < GuildhallTest
  attr_reader :now # of the filter's clock

  def setup
    @now = 100.0
  end

  def test_the_first_is_let_through_and_the_rest_counted
    repeats = repeats(10)
    assert_equal [1, 1], [repeats.admit(:a), repeats.admit(:b)]
    assert_equal [nil, nil, 3, nil], [3, 3, 4, 9].map { |seconds| after(seconds) { repeats.admit(:a) } }
  end

  def test_the_same_pause_between_two
    repeats = repeats(10)
    times = (0..200).filter_map { after(1) { @now if repeats.admit(:a) } }
    assert_equal [10], times.each_cons(2).map { |a, b| (b - a).round }.uniq
  end

  def test_what_has_not_come_for_long_is_new
    repeats = repeats(10)
    repeats.admit(:a)
    after(1) { repeats.admit(:a) }
    assert_equal 1, after(21) { repeats.admit(:a) }
  end

  def test_few_are_remembered
    repeats = repeats(60)
    2_000.times { |index| repeats.admit(index) }
    assert_equal [1, nil], [repeats.admit(0), repeats.admit(1_999)]
  end

  private

  def repeats(pause) = Guildhall::Kafka::Logging::LibrdkafkaLog::RepeatFilter.new(pause, clock: self)

  def after(seconds)
    @now += seconds
    yield
  end
end
