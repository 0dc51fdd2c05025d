# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaIsolationTest < GuildhallTest
  # Handles messages as a partition would: all together, and, once that has failed, as isolation says.
  # @return [Array(Integer, Array<Integer>)] how many calls it took, and which messages failed alone
  def isolate(count, bad)
    isolation = Guildhall::Kafka::Processing::Isolation.new
    left = (0...count).to_a
    calls = 0
    failed = []
    until left.empty?
      some = left.first(isolation.take(left))
      calls += 1
      next isolation.failed(some.last) if some.intersect?(bad) && some.size > 1

      failed.concat(some) if some.intersect?(bad)
      left -= some
      isolation.passed(left.first || count)
    end
    [calls, failed]
  end

  def test_finds_the_message_that_fails
    [[1, 0], [2, 1], [20, 7], [500, 0], [500, 250], [500, 499]].each do |count, bad|
      calls, failed = isolate(count, [bad])
      assert_equal [bad], failed
      assert_operator calls, :<=, 3 + Math.log2(count).ceil, "#{bad} of #{count}"
    end
  end

  def test_finds_several
    assert_equal [3, 4, 19], isolate(20, [3, 4, 19]).last
    assert_equal (0...9).to_a, isolate(9, (0...9).to_a).last
  end

  def test_suspects_the_message_that_was_looked_at_last_once
    isolation = Guildhall::Kafka::Processing::Isolation.new
    isolation.failed(6, suspected: true)
    assert_equal 6, isolation.take((0..9).to_a), "those before it"
    isolation.passed(6)
    assert_equal 1, isolation.take((6..9).to_a), "it alone"
    isolation.passed(7)
    assert_equal 3, isolation.take([7, 8, 9])
    isolation.failed(8, suspected: true) # another one
    assert_equal 1, isolation.take([7, 8, 9])
  end

  def test_halves_where_the_suspicion_was_wrong
    isolation = Guildhall::Kafka::Processing::Isolation.new
    isolation.failed(14, suspected: true)
    assert_equal 14, isolation.take((0..19).to_a)
    isolation.failed(9, suspected: true)
    assert_equal 5, isolation.take((0..19).to_a)
    isolation.failed(4)
    assert_equal 2, isolation.take((0..19).to_a)
  end

  def test_takes_all_where_nothing_is_suspected
    isolation = Guildhall::Kafka::Processing::Isolation.new
    assert_equal 3, isolation.take([1, 2, 3])
    isolation.failed(3)
    assert_equal 1, isolation.take([1, 2, 3])
    isolation.passed(4)
    assert_equal 2, isolation.take([4, 5])
  end
end
