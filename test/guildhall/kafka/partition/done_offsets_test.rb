# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaDoneOffsetsTest < GuildhallTest
  def setup
    @progress = Guildhall::Kafka::Partition::DoneOffsets.new
  end

  def test_only_grows
    assert_nil @progress.position
    assert @progress.advance(5)
    refute @progress.advance(5)
    refute @progress.advance(3)
    assert_equal 5, @progress.position
    assert @progress.done?(4)
    refute @progress.done?(5)
  end

  def test_hops_over_what_was_done_before
    @progress.advance(5)
    assert @progress.add(7, 9)
    assert @progress.add(9, 10)
    assert_equal [5, [7...10], false], [@progress.position, @progress.beyond, @progress.contiguous?]
    assert @progress.add(5, 7)
    assert_equal [10, [], true], [@progress.position, @progress.beyond, @progress.contiguous?]
  end

  def test_ranges_that_touch_are_one
    [[20, 21], [10, 12], [30, 40], [12, 20]].each { |range| assert @progress.add(*range) }
    assert_equal [[10...21, 30...40], 21, nil], [@progress.beyond, @progress.size_beyond, @progress.position]
    assert @progress.add(5, 35)
    refute @progress.add(10, 12)
    assert_equal [5...40], @progress.beyond
    assert_equal [false, true, true, false], [4, 5, 39, 40].map { |offset| @progress.done?(offset) }
    @progress.advance(7)
    assert_equal [40, 0], [@progress.position, @progress.size_beyond]
  end

  # Against a list of all offsets.
  def test_whatever_order_they_come_in
    20.times do
      done = Array.new(60, false)
      progress = Guildhall::Kafka::Partition::DoneOffsets.new
      progress.advance(0)
      40.times do
        first = rand(59)
        behind = [first + rand(1..5), 60].min
        assert_equal done[first...behind].all?, !progress.add(first, behind)
        done.fill(true, first...behind)
        assert_equal done, (0...60).map { |offset| progress.done?(offset) }
        assert_equal done.index(false) || 60, progress.position
      end
    end
  end

  def test_a_message_is_done_once
    @progress.advance(5)
    assert @progress.add(7, 8)
    refute @progress.add(7, 8)
    refute @progress.add(4, 5)
  end

  def test_forgets_what_it_has_passed
    @progress.advance(5)
    @progress.add(7, 8)
    @progress.advance(20)
    assert_empty @progress.beyond
    assert_equal 20, @progress.position
  end
end
