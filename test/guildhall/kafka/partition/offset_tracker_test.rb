# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaOffsetTrackerTest < GuildhallTest
  # As much of a batch as counts.
  class Batch
    Record = Struct.new(:offset)
    attr_reader :records, :kept, :generation

    def initialize(offsets, generation: 0, dropped: [])
      @records = offsets.map { |offset| Record.new(offset) }
      @kept = offsets.each_index.reject { |index| dropped.include?(offsets[index]) }
      @generation = generation
    end

    def first_offset = @records.first.offset
    def end_offset = @records.last.offset + 1

    def next_offset(index)
      after = @kept[@kept.index(index) + 1]
      after ? @records[after].offset : end_offset
    end
  end

  def setup
    @client = KafkaPartition::Client.new
  end

  def tracker(**settings)
    store = Guildhall::Kafka::Partition::OffsetStore.new(@client, "t", 0)
    Guildhall::Kafka::Partition::OffsetTracker.new(store, **settings)
  end

  def stored(tracker)
    tracker.store
    @client.stored.last
  end

  # Else a group that has committed nothing would begin at the end the next time, behind what has failed.
  def test_where_the_first_batch_begins_is_stored_before_something_is_done
    tracker = tracker()
    assert_equal [0, 1, 2], tracker.pending(Batch.new([5, 6, 7]))
    assert_equal [5, [5, nil]], [tracker.next, stored(tracker)]
  end

  def test_when_there_was_progress
    tracker = tracker()
    tracker.pending(Batch.new([5, 6, 7]))
    assert_equal(-Float::INFINITY, tracker.progressed_at)
    tracker.mark(6, 0)
    assert_in_delta Guildhall::Clock.now, marked = tracker.progressed_at, 30
    tracker.complete(8, 0)
    assert_operator marked, :<, completed = tracker.progressed_at
    tracker.mark(6, -1)
    assert_equal completed, tracker.progressed_at, "the mark of a message that a seek has made void"
  end

  def test_marks_only_grow_and_are_stored_when_asked
    tracker = tracker()
    batch = Batch.new([5, 6, 7])
    tracker.pending(batch)
    assert tracker.mark(7, 0)
    assert tracker.mark(6, 0)
    assert_empty @client.stored
    assert_equal [7, nil], stored(tracker)
    tracker.store
    assert_equal 1, @client.stored.size, "nothing is new"
    assert_equal [2], tracker.pending(batch)
    assert tracker.complete(8, 0)
    assert_equal [8, nil], stored(tracker)
    assert_empty tracker.pending(batch)
  end

  def test_metadata_belongs_to_the_offset_that_it_was_given_with
    tracker = tracker()
    tracker.mark(5, 0, "note")
    tracker.mark(4, 0)
    assert_equal [5, "note"], stored(tracker)
    tracker.mark(3, 0, "another")
    assert_equal [5, "another"], stored(tracker)
    tracker.mark(6, 0)
    assert_equal [6, nil], stored(tracker)
  end

  def test_what_is_done_behind_the_offset_is_kept_beside_it
    tracker = tracker()
    batch = Batch.new([5, 6, 9])
    tracker.pending(batch)
    tracker.mark_each(0, "mine") { [[6, 9]] }
    offset, metadata = stored(tracker)
    assert_equal [5, [6...9]], [offset, Guildhall::Kafka::Partition::DoneRanges.load(5, metadata)]
    assert_equal [0, 2], tracker.pending(batch)
    tracker.complete_each(0) { [[5, 6]] }
    assert_equal 9, stored(tracker).first
  end

  def test_what_the_group_has_committed_behind_its_offset_is_not_done_again
    tracker = tracker()
    @client.kept = [5, Guildhall::Kafka::Partition::DoneRanges.dump(5, [[6, 8]])]
    tracker.recall
    assert_equal [0, 3], tracker.pending(Batch.new([5, 6, 7, 8]))
    tracker.complete_each(0) { [[5, 6]] }
    assert_equal 8, tracker.next
  end

  def test_ranges_that_are_known_stay_until_they_are_read_again
    tracker = tracker()
    @client.kept = [5, Guildhall::Kafka::Partition::DoneRanges.dump(5, [[6, 8], [100, 200]])]
    tracker.recall
    tracker.pending(Batch.new([5, 6, 7, 8]))
    tracker.complete_each(0) { [[8, 9]] }
    offset, metadata = stored(tracker)
    assert_equal [5, [6...9, 100...200]], [offset, Guildhall::Kafka::Partition::DoneRanges.load(5, metadata)]
  end

  def test_a_gap_behind_what_was_done_before_a_restart_holds_nothing_up
    [false, true].each do |parking|
      tracker = tracker(parking:)
      @client.kept = [5, Guildhall::Kafka::Partition::DoneRanges.dump(5, [[6, 7]])]
      tracker.recall
      assert_equal [0, 2], tracker.pending(Batch.new([5, 6, 10]))
      tracker.complete_each(0) { [[5, 6], [10, 11]] }
      assert_equal 11, tracker.position
    end
  end

  def test_that_a_batch_was_done_before_a_restart_is_committed
    tracker = tracker()
    @client.kept = [5, Guildhall::Kafka::Partition::DoneRanges.dump(5, [[6, 7], [10, 11]])]
    tracker.recall
    assert_empty tracker.pending(Batch.new([6, 10]))
    tracker.complete(11, 0)
    assert_equal [11, nil], stored(tracker)
  end

  def test_of_another_log_nothing_is_known
    tracker = tracker()
    @client.kept = [5, Guildhall::Kafka::Partition::DoneRanges.dump(5, [[6, 8]])]
    tracker.recall
    assert_equal [0, 1, 2], tracker.pending(Batch.new([0, 6, 7]))
  end

  def test_later_batches_may_be_done_before_a_parked_message
    tracker = tracker(parking: true)
    first = Batch.new([5, 6])
    tracker.pending(first)
    tracker.complete_each(0) { [[5, 6]] }
    assert_equal [[1], [], nil], [tracker.left(first, [0, 1]), tracker.left(first, [0]), tracker.left(Batch.new([1], generation: 3), [0])]
    tracker.pending(Batch.new([9, 10]))
    tracker.complete_each(0) { [[9, 10], [10, 11]] }
    assert_equal [6, 4, true, false], [tracker.position, tracker.size_beyond, tracker.done?(8), tracker.done?(6)]
    assert_predicate tracker, :fit?
    tracker.complete_each(0) { [[6, 7]] }
    assert_equal 11, tracker.position
  end

  def test_a_seek_makes_void_what_is_said_of_messages_before_it
    tracker = tracker()
    old = Batch.new([5, 6, 7])
    tracker.pending(old)
    tracker.mark(6, 0)
    tracker.rewind
    assert_equal [6, nil], @client.stored.last, "what was done before the seek is not forgotten"
    refute tracker.mark(8, 0)
    refute tracker.complete(8, 0)
    refute(tracker.mark_each(0) { flunk("not asked for") })
    refute tracker.complete_each(0) { [[7, 8]] }
    assert_nil tracker.pending(old)
    tracker.pending(Batch.new([2, 3], generation: tracker.reading))
    assert tracker.mark(3, tracker.generation)
    tracker.store
    assert_equal [[3, nil]], @client.committed_to, "lower than before"
  end

  def test_offsets_that_begin_anew_wait_for_their_batch
    tracker = tracker()
    old = Batch.new([50, 51])
    tracker.pending(old)
    assert_equal 0, tracker.read(50, 52)
    assert_equal 1, tracker.read(0, 2)
    assert_equal 2, tracker.read_to
    assert tracker.complete(52, 0), "the old ones are still in work"
    fresh = Batch.new([0, 1], generation: tracker.reading)
    assert_equal [0, 1], tracker.pending(fresh)
    refute tracker.mark(52, 0)
    assert_equal 0, tracker.next
  end

  def test_manual_offsets_are_stored_by_marks_alone
    tracker = tracker(manual: true)
    batch = Batch.new([0, 1, 2])
    tracker.pending(batch)
    tracker.complete(3, 0)
    assert_equal [0, nil], stored(tracker)
    assert_equal [3, 0], [tracker.next, tracker.position]
    assert_empty tracker.pending(batch), "but they are done"
    tracker.mark(2, 0)
    assert_equal [2, nil], stored(tracker)
  end

  def test_a_manual_dead_letter_waits_until_everything_before_it_is_marked
    tracker = tracker(manual: true)
    tracker.pending(Batch.new([0, 1, 2, 3]))
    tracker.mark_each(0) { [[2, 3]] }
    assert_equal [0, [2...3]], [stored(tracker).first, Guildhall::Kafka::Partition::DoneRanges.load(0, stored(tracker).last)]
    tracker.mark(2, 0)
    assert_equal [3, nil], stored(tracker)
  end

  def test_what_was_dropped_right_behind_a_mark_is_stored_with_it
    tracker = tracker(manual: true)
    tracker.pending(Batch.new([0, 1]))
    tracker.mark(2, 0)
    tracker.pending(Batch.new([2, 3], dropped: [2, 3]))
    assert_equal [4, nil], stored(tracker)
    tracker.pending(Batch.new([4, 5]))
    tracker.complete(6, 0)
    tracker.pending(Batch.new([6, 7], dropped: [6, 7]))
    assert_equal [4, nil], stored(tracker), "4 and 5 are not marked"
  end

  def test_messages_of_earlier_batches_that_are_not_marked_are_known_and_can_be_forgotten
    tracker = tracker(manual: true)
    first = Batch.new([0, 1, 2])
    second = Batch.new([3, 4])
    tracker.pending(first)
    tracker.complete(3, 0)
    tracker.mark_each(0) { [[1, 2]] }
    assert_nil tracker.unmarked_before(first)
    tracker.pending(second)
    assert_equal 0, tracker.unmarked_before(second)
    tracker.forget_unmarked
    assert_equal [0, 2], tracker.pending(first), "a dead letter is not"
    tracker.mark(3, 0)
    assert_nil tracker.unmarked_before(second)
    assert_equal [0, 1], tracker.pending(second)
  end

  def test_without_manual_offsets_earlier_batches_are_done
    tracker = tracker()
    tracker.pending(Batch.new([0, 1]))
    tracker.complete(2, 0)
    tracker.pending(second = Batch.new([2, 3]))
    assert_nil tracker.unmarked_before(second)
  end

  def test_what_was_not_committed_of_a_topic_that_is_gone_is_dismissed
    tracker = tracker()
    tracker.mark(5, 0)
    2.times { tracker.close(dismiss: true) }
    assert_equal [[Guildhall::Kafka::Connection::Librdkafka::NO_OFFSET, nil]], @client.stored
  end

  def test_at_most_once_commits_ahead_of_what_is_done
    tracker = tracker(manual: true)
    batch = Batch.new([0, 1])
    tracker.pending(batch)
    assert tracker.commit_ahead(2, 0)
    assert_equal [2, nil], @client.stored.last
    assert_equal [0, 1], tracker.pending(batch)
  end

  def test_the_end_stores_what_is_done_and_nothing_after_it
    tracker = tracker()
    tracker.mark(5, 0)
    tracker.close
    assert_equal [5, nil], @client.stored.last
    refute tracker.mark(6, 0)
    refute tracker.commit
    assert_predicate tracker, :closed?
  end
end
