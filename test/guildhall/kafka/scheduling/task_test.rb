# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaScheduledTaskTest < GuildhallTest
  Task = Guildhall::Kafka::Scheduling::Task

  def task(expression, missed: :run_once, &block) = Task.new("t", expression, Task.cron(expression), missed, block || proc {})

  def at(text) = Time.utc(*text.scan(/\d+/).map(&:to_i)).to_i

  def test_it_is_due_when_a_due_time_has_come_since_the_last
    hourly = task("0 * * * * UTC")
    last = at("2026-03-01 03:00:00")
    assert_nil hourly.due(last, at("2026-03-01 03:59:59"))
    assert_equal at("2026-03-01 04:00:00"), hourly.due(last, at("2026-03-01 04:00:00"))
    assert_equal at("2026-03-01 04:00:00"), hourly.due(last, at("2026-03-01 04:00:00") + 0.7)
    assert_equal at("2026-03-01 04:00:00"), hourly.next_due(last)
  end

  def test_several_due_times_that_have_passed_are_one
    assert_equal at("2026-03-05 12:00:00"), task("0 * * * * UTC").due(at("2026-03-01 03:00:00"), at("2026-03-05 12:30:00"))
  end

  def test_a_due_time_that_is_more_than_a_minute_old_is_missed
    skipping = task("0 * * * * UTC", missed: :skip)
    refute skipping.skip?(1_000, 1_060)
    assert skipping.skip?(1_000, 1_061)
    refute task("0 * * * * UTC").skip?(1_000, 100_000)
    assert_equal [true, false], [task("0 * * * *").repeat?, skipping.repeat?]
  end

  def test_time_zones_and_words_are_understood
    berlin = task("0 3 * * * Europe/Berlin")
    assert_equal at("2026-07-01 01:00:00"), berlin.next_due(at("2026-07-01 00:00:00"))
    assert_equal at("2026-03-01 00:05:00"), task("every 5 minutes").next_due(at("2026-03-01 00:01:00"))
    assert_equal [nil, nil], ["nonsense", "0 0 30 2 *"].map { |expression| Task.cron(expression) }
  end

  def test_the_block_gets_the_due_time
    seen = nil
    task("every hour") { |due| seen = due }.call(1_700_000_000)
    assert_equal Time.at(1_700_000_000), seen
  end
end
