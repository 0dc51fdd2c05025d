# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaRemindersTest < GuildhallTest
  def setup
    @reminders = Guildhall::Kafka::Reachability::Reminders.new
  end

  def test_a_reason_is_reported_at_once_and_with_growing_pauses
    assert_equal [0, 10, 30, 70, 150, 310, 630, 1_230, 1_830], (0...2_000).select { |now| @reminders.due?("refused", now) }
  end

  def test_reasons_that_alternate_are_as_many_reports_as_those_that_do_not
    reported = (0...80).select { |now| @reminders.due?(now.even? ? 502 : 503, now) }
    assert_equal [0, 1, 10, 11, 30, 31, 70, 71], reported
  end

  # One that was due later may be reported earlier: what is wrong with a connection takes a while to find out.
  def test_the_first_report_is_no_reminder_and_all_others_are
    2.times { |reason| @reminders.due?(reason, 0) }
    assert_equal [false, true, true], Array.new(3) { @reminders.announce }
  end

  def test_reasons_are_bounded
    most = Guildhall::Kafka::Reachability::Reminders::MAX_REASONS
    assert((0..most).all? { |reason| @reminders.due?(reason, 0) })
    assert @reminders.due?(0, 1), "the oldest was forgotten"
    refute @reminders.due?(most, 1)
  end
end
