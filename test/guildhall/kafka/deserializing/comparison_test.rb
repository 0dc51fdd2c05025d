# frozen_string_literal: true

require "test_helper"
require "delegate"
require "guildhall/kafka/deserializing/comparison"

class KafkaComparisonTest < GuildhallTest
  BATCH = 1 << 20

  # Batches come as fast as they are consumed, each way at its own rate.
  # @param rates [Hash{Boolean=>Numeric}] batches a second, with workers and without
  # @return [Float] which share of the seconds from the fourth on was spent with workers
  def share_with_workers(comparison, rates, seconds)
    now = start = @now || 0.0
    spent = {true => 0.0, false => 0.0}
    while now - start < seconds
      way = comparison.parallel(BATCH, now)
      now += 1.0 / rates.fetch(way)
      spent[way] += 1.0 / rates.fetch(way) if now - start > 4
    end
    @now = now
    spent[true] / spent.values.sum
  end

  def test_the_faster_way_stays_whichever_came_first
    [true, false].each do |first|
      @now = nil
      assert_operator share_with_workers(compared(first), {true => 130, false => 100}, 60), :>, 0.9
      @now = nil
      assert_operator share_with_workers(compared(first), {true => 80, false => 100}, 60), :<, 0.1
    end
  end

  def test_workers_that_are_no_faster_are_left_to_others
    assert_operator share_with_workers(compared(true), {true => 101, false => 100}, 60), :<, 0.1
  end

  def test_what_has_changed_is_found_out
    comparison = compared(false)
    share_with_workers(comparison, {true => 80, false => 100}, 30)
    assert_operator share_with_workers(comparison, {true => 200, false => 100}, 300), :>, 0.8
  end

  # Rates of the two ways, which settle half a second after the start, and how long a backlog lasts.
  def test_finding_out_costs_little_also_where_a_backlog_is_short
    [0.75, 0.9, 1.1, 1.3, 1.6].each do |workers|
      comparison = compared(true)
      now = bytes = 0.0
      while now < 8
        rate = 100 * (comparison.parallel(BATCH, now) ? workers : 1)
        now += (now < 0.5 ? 1.4 : 1.0) / rate
        bytes += 1
      end
      assert_operator bytes / (785 * [workers, 1].max), :>, 0.96, "workers #{workers} times as fast"
    end
  end

  def test_without_a_backlog_nothing_is_compared
    comparison = compared(false)
    ways = Array.new(100) { |index| comparison.parallel(BATCH, index.to_f) }
    assert_equal [false], ways.uniq
    assert_nil comparison.parallel(100, 101.0), "small batches are left to the pool"
  end

  # A moment in which something else happens when it is used for the third time: at the end of an epoch.
  class Moment < SimpleDelegator
    def initialize(seconds, &other)
      super(seconds)
      @other = other
      @uses = 0
    end

    def -(earlier)
      @other.call if (@uses += 1) == 3
      super
    end
  end

  def test_several_runners_at_once
    comparison = compared(true)
    18.times { |index| comparison.parallel(BATCH, index / 20.0) }
    second = nil
    way = comparison.parallel(BATCH, Moment.new(0.92) do
      second = Thread.new { comparison.parallel(BATCH, 0.93) }
      Thread.pass until second.stop?
    end)
    assert_equal [false, false], [way, second.value], "the epoch ends once"
  end

  private

  def compared(first) = Guildhall::Kafka::Deserializing::Comparison.new(workers: first)
end
