# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaDoneRangesTest < GuildhallTest
  R = Guildhall::Kafka::Processing::DoneRanges

  def test_what_was_written_is_read
    text = R.dump(100, [102, 103, 104, 110, 1_000_000], "mine")
    assert text.start_with?("mine")
    assert_equal [102...105, 110...111, 1_000_000...1_000_001], R.load(100, text)
  end

  def test_nothing_is_added_where_there_is_nothing_to_say
    assert_nil R.dump(100, [])
    assert_equal "mine", R.dump(100, [], "mine")
    assert_empty R.load(100, "mine")
    assert_empty R.load(100, nil)
  end

  def test_what_does_not_fit_is_left_out
    text = R.dump(0, (1..10_000).step(2).to_a)
    assert_operator text.bytesize, :<=, R::MAX_BYTES + R::MARK.bytesize
    read = R.load(0, text)
    assert_operator read.size, :>, 100
    assert_equal (1..).step(2).first(read.size), read.map(&:begin)
  end

  def test_the_users_text_takes_of_the_room
    text = R.dump(0, (1..10_000).step(2).to_a, "x" * 2_000)
    assert_operator text.bytesize, :<=, R::MAX_BYTES + R::MARK.bytesize
    assert_equal "x" * 4_000, R.dump(0, [1, 3], "x" * 4_000)
  end

  def test_what_is_not_ours_is_nothing
    assert_empty R.load(5, "#{R::MARK}zz.,1")
    assert_empty R.load(5, "\xFF")
  end
end
