# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka/settings/rules"

# Which numbers are seconds, and which look like milliseconds.
class KafkaSettingsRulesTest < GuildhallTest
  Rules = Guildhall::Kafka::Settings::Rules

  def test_seconds
    [1, 600, 0.5, 900.0, 86_400.0, 1r].each { |seconds| assert_nil Rules::DURATION.problem(seconds), seconds }
    assert_nil Rules::DURATION_OR_ZERO.problem(0)
    assert_equal "must be a finite number > 0 (seconds), not 0", Rules::DURATION.problem(0)
    [nil, "5", Float::INFINITY, -1].each { |value| assert_match(/\Amust be a finite number ≥ 0/, Rules::DURATION_OR_ZERO.problem(value)) }
  end

  def test_what_looks_like_milliseconds
    assert_equal "is in seconds: 601 looks like milliseconds (write 0.601 for that, or 601.0 if seconds are meant)", Rules::DURATION.problem(601)
    assert_equal "is in seconds: 86401.0 looks like milliseconds", Rules::DURATION.problem(86_401.0)
  end
end
