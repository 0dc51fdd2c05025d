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

  def test_what_is_no_real_number_is_no_number_of_seconds
    [Complex(1, 0), Float::NAN, 1.., Time.now].each { |value| assert_match(/\Amust be a finite number > 0/, Rules::DURATION.problem(value)) }
  end

  def test_texts_are_utf_8_without_nul
    ["a", "größe", "größe".b, "a".encode("US-ASCII"), ""].each { |text| assert_nil Rules::TEXT.problem(text), text.inspect }
    ["a\0", "\xff", "\xff".b, "é".encode("ISO-8859-1"), "a".encode("UTF-16LE"), :a, nil].each do |text|
      assert_equal "must be a String of UTF-8 without NUL bytes, not #{text.inspect}", Rules::TEXT.problem(text)
      refute_nil Rules::NAME.problem(text)
    end
    [" ", ""].each { |text| refute_nil Rules::NAME.problem(text) }
  end

  def test_nothing_but_a_list_is_asked_for_its_elements
    [nil, [1, nil], Set[1]].each { |list| assert_equal list.to_a, Rules.list(list) }
    [1.., ..1, loop, {a: 1}, 1..2].each { |one| assert_equal [one], Rules.list(one) }
  end

  def test_what_looks_like_milliseconds
    assert_equal "is in seconds: 601 looks like milliseconds (write 0.601 for that, or 601.0 if seconds are meant)", Rules::DURATION.problem(601)
    assert_equal "is in seconds: 86401.0 looks like milliseconds", Rules::DURATION.problem(86_401.0)
  end
end
