# frozen_string_literal: true

require "test_helper"
require "support/kafka_records"
require "guildhall/kafka"

class KafkaBatchTest < GuildhallTest
  include KafkaRecords

  Record = Struct.new(:offset) do
    def tombstone? = false
  end

  # Outcomes by place.
  class Results
    def initialize(outcomes, filtering)
      @outcomes = outcomes
      @filtering = filtering
    end

    def filtering? = @filtering
    def [](index) = @outcomes[index]
    def wait = nil
    def again = (@again = true)
    def again? = @again
  end

  D = Guildhall::DROPPED

  def batch(offsets, outcomes, filtering: true)
    results = Results.new(outcomes, filtering)
    Guildhall::Kafka::Messages::Batch.new(offsets.map { |offset| Record.new(offset) }, results, route, bytes: 10 * offsets.size)
  end

  def test_what_was_left_out_is_not_seen_and_counted
    batch = batch([5, 6, 7, 9], [D, :a, D, nil])
    messages = batch.messages
    assert_equal [6, 9], messages.map(&:offset)
    assert_equal [:a, nil], messages.payloads
    assert_equal [2, 4, 40], [messages.dropped, messages.read, messages.bytes]
    assert_equal [5, 10], [batch.first_offset, batch.end_offset]
  end

  def test_offsets_of_what_was_left_out_behind_a_message_come_with_it
    batch = batch([5, 6, 7, 9, 10], [:a, D, D, :b, D])
    assert_equal [9, 11], [batch.offset_after(5), batch.offset_after(9)]
    assert_equal [3, 21], [batch.offset_after(2), batch.offset_after(20)], "of other batches it knows nothing"
    assert_equal([9, 11], [0, 3].map { |index| batch.next_offset(index) })
  end

  def test_the_message_after_one_in_partitions_with_gaps
    assert_equal [6, 7], [5, 6].map { |offset| batch([5, 6], %i[a b], filtering: false).offset_after(offset) }
    gaps = batch([5, 9, 12], %i[a b c], filtering: false)
    assert_equal [9, 12, 13, 9], [5, 9, 12, 6].map { |offset| gaps.offset_after(offset) }
    assert_equal([9, 12, 13], [0, 1, 2].map { |index| gaps.next_offset(index) })
  end

  def test_what_is_dropped_at_another_attempt_is_known_then
    outcomes = %i[a b c]
    batch = batch([1, 2, 3], outcomes)
    assert_equal [3, 2], [batch.messages.size, batch.next_offset(0)]
    outcomes[1] = D
    batch.decode_again
    assert_equal [2, 3], [batch.messages.size, batch.next_offset(0)]
  end

  def test_where_nothing_is_left_out_nothing_is_decoded_again_before_it_is_asked_for
    batch = batch([1], [:a], filtering: false)
    batch.decode_again
    assert_predicate batch.results, :again?
    assert_equal [0], batch.kept
  end
end
