# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaProgressTest < GuildhallTest
  def setup
    @progress = Guildhall::Kafka::Processing::Progress.new
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
    assert_equal [5, [7, 9], false], [@progress.position, @progress.beyond, @progress.contiguous?]
    assert @progress.add(5, 7)
    assert_equal [10, [], true], [@progress.position, @progress.beyond, @progress.contiguous?]
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
