# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaLetterMarksTest < GuildhallTest
  Marks = Guildhall::Kafka::Broker::LetterMarks
  Letter = Data.define(:offset)

  def of(marks, offsets) = offsets.map { |offset| marks.of(offset) }
  def kept(marks, first = 0) = Marks.new(*marks.dump, first)

  def test_nothing_is_marked
    marks = Marks.new(nil, nil, 7)
    assert_equal [false, 7, [nil, nil]], [marks.known?, marks.position, of(marks, [7, 8])]
    assert_equal [7, nil], marks.dump
  end

  # Of earlier versions.
  def test_an_offset_alone_is_what_was_replayed_in_order
    marks = Marks.new(5, nil, 0)
    assert_equal [true, 5, [:replayed, :replayed, nil]], [marks.known?, marks.position, of(marks, [0, 4, 5])]
  end

  def test_each_letter_has_its_own_mark
    marks = Marks.new(nil, nil, 0)
    marks.replayed(3...4)
    marks.discarded(5...6)
    marks.discarded(0...1)
    expected = [:discarded, nil, nil, :replayed, nil, :discarded, nil]
    assert_equal expected, of(marks, 0..6)
    again = kept(marks)
    assert_equal [1, expected], [again.position, of(again, 0..6)]
    again.replayed(5...6)
    assert_equal :replayed, kept(again).of(5)
  end

  def test_what_is_settled_without_a_gap_needs_no_room
    marks = Marks.new(nil, nil, 0)
    1_000.times { |offset| marks.replayed(offset...(offset + 1)) }
    assert_equal [1_000, nil], marks.dump
  end

  def test_all_may_be_replayed_anew
    marks = Marks.new(6, nil, 0)
    marks.discarded(2...3)
    marks.replayed(8...9)
    marks.reopen(1)
    assert_equal [1, [:replayed, nil, :discarded, nil, nil]], [marks.position, of(marks, [0, 1, 2, 3, 8])]
  end

  def test_letters_that_are_gone_need_no_room
    marks = Marks.new(nil, nil, 0)
    marks.discarded(1...2)
    marks.discarded(9...10)
    later = kept(marks, 5)
    assert_equal [5, [nil, :discarded]], [later.position, of(later, [5, 9])]
    assert_equal Marks.new(nil, nil, 5).tap { |one| one.discarded(9...10) }.dump, later.dump
  end

  def test_hundreds_apart_from_each_other_fit
    marks = Marks.new(nil, nil, 0)
    700.times { |index| marks.replayed((10 + (index * 3))...(11 + (index * 3))) }
    assert_equal [:replayed, nil], of(kept(marks), [10, 11])
    assert_operator marks.dump.last.bytesize, :<=, 3_000
  end

  def test_more_are_refused_with_what_helps
    marks = Marks.new(nil, nil, 0)
    3_000.times { |index| marks.replayed((10 + (index * 3))...(11 + (index * 3))) }
    error = assert_raises(Guildhall::Kafka::ReplayError) { marks.dump }
    offset = error.message[/settle all up to an offset, with guildhall dlq discard --partition N --offsets \.\.(\d+)\z/, 1].to_i
    marks.discarded(0...(offset + 1)) # what is replayed in between stays so for the command
    marks.dump
  end

  # It is not forgotten that they are settled.
  def test_of_those_before_the_offset_it_may_be_forgotten_which_were_discarded
    marks = Marks.new(nil, nil, 0)
    2_000.times { |index| index.even? ? marks.discarded(index...(index + 1)) : marks.replayed(index...(index + 1)) }
    marks = kept(marks)
    assert_equal 2_000, marks.position
    assert_equal [:settled, :settled, :replayed, :discarded, nil], of(marks, [0, 1, 1_999, 1_998, 2_000])
  end

  def test_metadata_of_somebody_else
    ["gd1:?;1.1", "gd1:", "mine", "gd1:1;"].each { |text| assert_equal [:replayed, nil], of(Marks.new(5, text, 0), [4, 5]), text }
  end

  def test_a_letter_is_marked_with_what_lies_before_it_and_is_none
    assert_equal [0...4, 4...5, 5...8], Marks.spans([3, 4, 7].map { |offset| Letter.new(offset) }, 0).map(&:last)
  end
end
