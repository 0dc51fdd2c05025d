# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaProgressTest < GuildhallTest
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

  def progress(**settings)
    store = Guildhall::Kafka::Partition::OffsetStore.new(@client, "t", 0)
    Guildhall::Kafka::Partition::Progress.new(store, **settings)
  end

  def stored(progress)
    progress.store
    @client.stored.last
  end

  # Else a group that has committed nothing would begin at the end the next time, behind what has failed.
  def test_where_the_first_batch_begins_is_stored_before_something_is_done
    progress = progress()
    assert_equal [0, 1, 2], progress.pending(Batch.new([5, 6, 7]))
    assert_equal [5, [5, nil]], [progress.next, stored(progress)]
  end

  def test_when_there_was_progress
    progress = progress()
    progress.pending(Batch.new([5, 6, 7]))
    assert_equal(-Float::INFINITY, progress.progressed_at)
    progress.mark(6, 0)
    assert_in_delta Guildhall::Clock.now, marked = progress.progressed_at, 30
    progress.complete(8, 0)
    assert_operator marked, :<, completed = progress.progressed_at
    progress.mark(6, -1)
    assert_equal completed, progress.progressed_at, "the mark of a message that a seek has made void"
  end

  def test_marks_only_grow_and_are_stored_when_asked
    progress = progress()
    batch = Batch.new([5, 6, 7])
    progress.pending(batch)
    assert progress.mark(7, 0)
    assert progress.mark(6, 0)
    assert_empty @client.stored
    assert_equal [7, nil], stored(progress)
    progress.store
    assert_equal 1, @client.stored.size, "nothing is new"
    assert_equal [2], progress.pending(batch)
    assert progress.complete(8, 0)
    assert_equal [8, nil], stored(progress)
    assert_empty progress.pending(batch)
  end

  def test_metadata_belongs_to_the_offset_that_it_was_given_with
    progress = progress()
    progress.mark(5, 0, "note")
    progress.mark(4, 0)
    assert_equal [5, "note"], stored(progress)
    progress.mark(3, 0, "another")
    assert_equal [5, "another"], stored(progress)
    progress.mark(6, 0)
    assert_equal [6, nil], stored(progress)
  end

  def test_what_is_done_behind_the_offset_is_kept_beside_it
    progress = progress()
    batch = Batch.new([5, 6, 9])
    progress.pending(batch)
    progress.mark_each(0, "mine") { [[6, 9]] }
    offset, metadata = stored(progress)
    assert_equal [5, [6...9]], [offset, Guildhall::Kafka::Partition::DoneRanges.load(5, metadata)]
    assert_equal [0, 2], progress.pending(batch)
    progress.complete_each(0) { [[5, 6]] }
    assert_equal 9, stored(progress).first
  end

  def test_what_the_group_has_committed_behind_its_offset_is_not_done_again
    progress = progress()
    @client.kept = [5, Guildhall::Kafka::Partition::DoneRanges.dump(5, [6...8])]
    progress.recall
    assert_equal [0, 3], progress.pending(Batch.new([5, 6, 7, 8]))
    progress.complete_each(0) { [[5, 6]] }
    assert_equal 8, progress.next
  end

  def test_ranges_that_are_known_stay_until_they_are_read_again
    progress = progress()
    @client.kept = [5, Guildhall::Kafka::Partition::DoneRanges.dump(5, [6...8, 100...200])]
    progress.recall
    progress.pending(Batch.new([5, 6, 7, 8]))
    progress.complete_each(0) { [[8, 9]] }
    offset, metadata = stored(progress)
    assert_equal [5, [6...9, 100...200]], [offset, Guildhall::Kafka::Partition::DoneRanges.load(5, metadata)]
  end

  def test_a_gap_behind_what_was_done_before_a_restart_holds_nothing_up
    [false, true].each do |parking|
      progress = progress(parking:)
      @client.kept = [5, Guildhall::Kafka::Partition::DoneRanges.dump(5, [6...7])]
      progress.recall
      assert_equal [0, 2], progress.pending(Batch.new([5, 6, 10]))
      progress.complete_each(0) { [[5, 6], [10, 11]] }
      assert_equal 11, progress.commit_position
    end
  end

  def test_that_a_batch_was_done_before_a_restart_is_committed
    progress = progress()
    @client.kept = [5, Guildhall::Kafka::Partition::DoneRanges.dump(5, [6...7, 10...11])]
    progress.recall
    assert_empty progress.pending(Batch.new([6, 10]))
    progress.complete(11, 0)
    assert_equal [11, nil], stored(progress)
  end

  def test_of_another_log_nothing_is_known
    progress = progress()
    @client.kept = [5, Guildhall::Kafka::Partition::DoneRanges.dump(5, [6...8])]
    progress.recall
    assert_equal [0, 1, 2], progress.pending(Batch.new([0, 6, 7]))
  end

  def test_later_batches_may_be_done_before_a_parked_message
    progress = progress(parking: true)
    first = Batch.new([5, 6])
    progress.pending(first)
    progress.complete_each(0) { [[5, 6]] }
    assert_equal [[1], [], nil], [progress.not_done(first, [0, 1]), progress.not_done(first, [0]), progress.not_done(Batch.new([1], generation: 3), [0])]
    progress.pending(Batch.new([9, 10]))
    progress.complete_each(0) { [[9, 10], [10, 11]] }
    assert_equal [6, 4, true, false], [progress.commit_position, progress.size_beyond, progress.done?(8), progress.done?(6)]
    assert_predicate progress, :fit?
    progress.complete_each(0) { [[6, 7]] }
    assert_equal 11, progress.commit_position
  end

  def test_a_seek_makes_void_what_is_said_of_messages_before_it
    progress = progress()
    old = Batch.new([5, 6, 7])
    progress.pending(old)
    progress.mark(6, 0)
    progress.rewind
    assert_equal [6, nil], @client.stored.last, "what was done before the seek is not forgotten"
    refute progress.mark(8, 0)
    refute progress.complete(8, 0)
    refute(progress.mark_each(0) { flunk("not asked for") })
    refute progress.complete_each(0) { [[7, 8]] }
    assert_nil progress.pending(old)
    progress.pending(Batch.new([2, 3], generation: progress.generation))
    assert progress.mark(3, progress.generation)
    progress.store
    assert_equal [[3, nil]], @client.committed_to, "lower than before"
  end

  def test_offsets_that_begin_anew_wait_for_their_batch
    progress = progress()
    old = Batch.new([50, 51])
    progress.pending(old)
    assert_equal 0, progress.read(50, 52)
    assert_equal 1, progress.read(0, 2)
    assert_equal 2, progress.read_to
    assert progress.complete(52, 0), "the old ones are still in work"
    fresh = Batch.new([0, 1], generation: 1)
    assert_equal [0, 1], progress.pending(fresh)
    refute progress.mark(52, 0)
    assert_equal 0, progress.next
  end

  def test_manual_offsets_are_stored_by_marks_alone
    progress = progress(manual: true)
    batch = Batch.new([0, 1, 2])
    progress.pending(batch)
    progress.complete(3, 0)
    assert_equal [0, nil], stored(progress)
    assert_equal [3, 0], [progress.next, progress.commit_position]
    assert_empty progress.pending(batch), "but they are done"
    progress.mark(2, 0)
    assert_equal [2, nil], stored(progress)
  end

  def test_a_manual_dead_letter_waits_until_everything_before_it_is_marked
    progress = progress(manual: true)
    progress.pending(Batch.new([0, 1, 2, 3]))
    progress.mark_each(0) { [[2, 3]] }
    assert_equal [0, [2...3]], [stored(progress).first, Guildhall::Kafka::Partition::DoneRanges.load(0, stored(progress).last)]
    progress.mark(2, 0)
    assert_equal [3, nil], stored(progress)
  end

  def test_what_was_dropped_right_behind_a_mark_is_stored_with_it
    progress = progress(manual: true)
    progress.pending(Batch.new([0, 1]))
    progress.mark(2, 0)
    progress.pending(Batch.new([2, 3], dropped: [2, 3]))
    assert_equal [4, nil], stored(progress)
    progress.pending(Batch.new([4, 5]))
    progress.complete(6, 0)
    progress.pending(Batch.new([6, 7], dropped: [6, 7]))
    assert_equal [4, nil], stored(progress), "4 and 5 are not marked"
  end

  def test_messages_of_earlier_batches_that_are_not_marked_are_known_and_can_be_forgotten
    progress = progress(manual: true)
    first = Batch.new([0, 1, 2])
    second = Batch.new([3, 4])
    progress.pending(first)
    progress.complete(3, 0)
    progress.mark_each(0) { [[1, 2]] }
    assert_nil progress.unmarked_before(first)
    progress.pending(second)
    assert_equal 0, progress.unmarked_before(second)
    progress.forget_unmarked
    assert_equal [0, 2], progress.pending(first), "a dead letter is not"
    progress.mark(3, 0)
    assert_nil progress.unmarked_before(second)
    assert_equal [0, 1], progress.pending(second)
  end

  def test_without_manual_offsets_earlier_batches_are_done
    progress = progress()
    progress.pending(Batch.new([0, 1]))
    progress.complete(2, 0)
    progress.pending(second = Batch.new([2, 3]))
    assert_nil progress.unmarked_before(second)
  end

  def test_what_was_not_committed_of_a_topic_that_is_gone_is_dismissed
    progress = progress()
    progress.mark(5, 0)
    2.times { progress.close(dismiss: true) }
    assert_equal [[Guildhall::Kafka::Broker::Librdkafka::NO_OFFSET, nil]], @client.stored
  end

  def test_at_most_once_commits_ahead_of_what_is_done
    progress = progress(manual: true)
    batch = Batch.new([0, 1])
    progress.pending(batch)
    assert progress.commit_ahead(2, 0)
    assert_equal [2, nil], @client.stored.last
    assert_equal [0, 1], progress.pending(batch)
  end

  def test_the_end_stores_what_is_done_and_nothing_after_it
    progress = progress()
    progress.mark(5, 0)
    progress.close
    assert_equal [5, nil], @client.stored.last
    refute progress.mark(6, 0)
    refute progress.commit
    assert_predicate progress, :closed?
  end
end
