# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaDoneRangesTest < GuildhallTest
  R = Guildhall::Kafka::Partition::DoneRanges

  def test_what_was_written_is_read
    text = R.dump(100, [102...105, 110...111, 1_000_000...1_000_001], "mine")
    assert text.start_with?("mine")
    assert_equal [102...105, 110...111, 1_000_000...1_000_001], R.load(100, text)
  end

  def odd = (1..10_000).step(2).map { |offset| offset...(offset + 1) }

  def test_nothing_is_added_where_there_is_nothing_to_say
    assert_nil R.dump(100, [])
    assert_equal "mine", R.dump(100, [], "mine")
    assert_empty R.load(100, "mine")
    assert_empty R.load(100, nil)
  end

  def test_what_does_not_fit_is_left_out
    text = R.dump(0, odd)
    assert_operator text.bytesize, :<=, R::MAX_BYTES + R::MARK.bytesize
    read = R.load(0, text)
    assert_operator read.size, :>, 100
    assert_equal (1..).step(2).first(read.size), read.map(&:begin)
  end

  def test_the_users_text_takes_of_the_room
    text = R.dump(0, odd, "x" * 2_000)
    assert_operator text.bytesize, :<=, R::MAX_BYTES + R::MARK.bytesize
    assert_equal "x" * 4_000, R.dump(0, odd.first(2), "x" * 4_000)
  end

  def test_whether_it_fits
    assert R.fit?(0, [])
    assert R.fit?(0, odd.first(100))
    refute R.fit?(0, odd)
    refute R.fit?(0, odd.first(100), "x" * 2_900)
    most = (1..).find { |count| !R.fit?(0, odd.first(count)) } - 1
    assert_equal [most, most], [most, most + 1].map { |count| R.load(0, R.dump(0, odd.first(count))).size }
  end

  def test_the_users_text_is_read_back
    assert_equal ["note", "note", nil, nil], [R.dump(0, [3...5], "note"), "note", R.dump(0, [3...5]), nil].map { |text| R.text(text) }
    assert_equal "\xFF", R.text("\xFF".b)
  end

  def test_what_is_not_ours_is_nothing
    assert_empty R.load(5, "#{R::MARK}zz.,1")
    assert_empty R.load(5, "\xFF")
  end
end
