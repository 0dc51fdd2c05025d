# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaParkedKeysTest < GuildhallTest
  Runtime = Struct.new(:config, :timer, :contention)
  Of = Data.define(:topic, :runtime) { def reports = nil }
  Batch = Struct.new(:records, :generation) do
    def next_offset(index) = records[index].offset + 1
  end

  def setup
    ordering = Guildhall::Kafka::Routing::Ordering.new(by: :key, max_parked_keys: 2, max_parked_messages: 4)
    topic = Struct.new(:ordering, :max_bytes, :dead_letter_queue, :retries).new(ordering, 50, nil, Guildhall::Kafka::Routing::Retries.new)
    @timer = KafkaPartition.timer
    @calls = 0
    @keys = Guildhall::Kafka::Partition::ParkedKeys.new(
      Of.new(topic, Runtime.new(Guildhall::Kafka::Config.new, @timer))
    ) { @calls += 1 }
  end

  def batch(*offsets, generation: 0, bytes: 1)
    Batch.new(offsets.map { |offset| KafkaPartition::Record.new(offset, "x" * bytes, "k", Time.at(offset)) }, generation)
  end

  def pass(entry, *done) = @keys.pass(entry) { |offset| done.include?(offset) }

  def offsets(entry) = @keys.held(entry).map { |held| held.record.offset }

  def test_a_key_holds_what_comes_behind_it_until_all_of_it_is_done
    refute @keys.hold("a", batch(1), [0])
    entry = @keys.park("a", batch(1, 2), [0])
    assert @keys.hold("a", batch(5, 6), [1])
    refute @keys.hold("b", batch(7), [0])
    assert_equal [[1, 6], [1, 2], Time.at(1)], [offsets(entry), @keys.counts, @keys.oldest_time]
    assert_equal %i[unchanged moved], [pass(entry), pass(entry, 1)]
    assert_equal [[0, 6], Time.at(6)], [entry.at, @keys.oldest_time]
    assert_equal :resumed, pass(entry, 6)
    assert_equal [false, [0, 0], nil], [@keys.hold("a", batch(8), [0]), @keys.counts, @keys.oldest_time]
  end

  def test_keys_are_taken_when_they_are_due_the_first_first
    entries = %w[a b].map { |key| @keys.park(key, batch(1), [0]) }
    assert_nil @keys.take
    @keys.wait(entries.first, 0.001)
    @keys.due(entries.last)
    assert_predicate @keys, :due?
    @timer.pass
    assert_equal [2, "b", "a", nil], [@calls, @keys.take.key, @keys.take.key, @keys.take]
  end

  def test_a_key_has_one_next_attempt
    entry = @keys.park("a", batch(1, 2), [0, 1])
    2.times { @keys.wait(entry, 0.001) }
    assert @timer.pass
    refute @timer.pass, "the first alarm"
    @keys.due(entry)
    assert_equal [entry, nil], [@keys.take, @keys.take]
    @keys.due(entry)
    assert_equal [:resumed, nil], [pass(entry, 1, 2), @keys.take]
  end

  def test_it_is_full_by_keys_messages_and_bytes
    refute_predicate @keys, :full?
    @keys.park("a", batch(1, 2, 3), [0, 1, 2])
    refute_predicate @keys, :full?
    @keys.hold("a", batch(4), [0])
    assert_predicate @keys, :full?, "4 messages"
    @keys.renew(1)
    %w[a b].each { |key| @keys.park(key, batch(1, generation: 1), [0]) }
    assert_predicate @keys, :full?, "2 keys"
    @keys.renew(2)
    entry = @keys.park("a", batch(1, 2, generation: 2, bytes: 50), [0, 1])
    assert_predicate @keys, :full?, "twice max_bytes"
    pass(entry, 1)
    refute_predicate @keys, :full?
  end

  # What is tried already, or waits for its dead letter, is not tried once more.
  def test_those_that_wait_are_hurried
    waiting = @keys.park("a", batch(1), [0])
    @keys.wait(waiting, 60)
    tried = @keys.park("b", batch(2), [0])
    assert_equal 1, @keys.hurry
    assert_equal [waiting, nil, 1], [@keys.take, @keys.take, @calls]
    assert_equal 0, @keys.hurry, "it is being tried"
    refute_nil tried
  end

  def test_after_a_seek_nothing_of_before_counts
    entry = @keys.park("a", batch(1), [0])
    @keys.wait(entry, 0.001)
    @keys.renew(1)
    assert_nil @timer.pass, "its alarm is cancelled"
    @keys.due(entry)
    assert_equal [0, nil, [0, 0], :void], [@calls, @keys.take, @keys.counts, pass(entry, 1)]
    late = @keys.park("a", batch(2), [0])
    @keys.due(late)
    assert_equal [0, [0, 0], false], [@calls, @keys.counts, @keys.hold("a", batch(3, generation: 1), [0])]
  end

  # A thread may have asked for the generation just before a seek, and says it only after a key was parked.
  def test_an_older_generation_changes_nothing
    @keys.renew(1)
    entry = @keys.park("a", batch(1, generation: 1), [0])
    @keys.wait(entry, 0.001)
    @keys.renew(0)
    assert @timer.pass, "its alarm goes on"
    assert_equal [[1, 1], entry], [@keys.counts, @keys.take]
  end

  def test_once_closed_it_takes_no_keys
    @keys.park("a", batch(1), [0])
    @keys.close
    @keys.renew(1)
    @keys.park("a", batch(2, generation: 1), [0])
    assert_equal [0, 0], @keys.counts
  end
end
