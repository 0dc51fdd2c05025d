# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaBatchTest < GuildhallTest
  Record = Struct.new(:offset) do
    def tombstone? = false
  end

  # Outcomes by place.
  class Results
    def initialize(outcomes) = @outcomes = outcomes
    def [](index) = @outcomes[index]
    def wait = nil
  end

  D = Guildhall::DROPPED

  def batch(offsets, outcomes, filtering: true)
    Guildhall::Kafka::Batch.new(offsets.map { |offset| Record.new(offset) }, Results.new(outcomes), bytes: 10 * offsets.size, filtering:)
  end

  def topic = nil

  def test_what_was_left_out_is_not_seen_and_counted
    batch = batch([5, 6, 7, 9], [D, :a, D, nil])
    messages = batch.messages(0, topic)
    assert_equal [6, 9], messages.map(&:offset)
    assert_equal [:a, nil], messages.payloads
    assert_equal [2, 4, 40], [messages.dropped, messages.read, messages.bytes]
    assert_equal [5, 10], [batch.first_offset, batch.end_offset]
  end

  def test_offsets_of_what_was_left_out_behind_a_message_come_with_it
    batch = batch([5, 6, 7, 9, 10], [:a, D, D, :b, D])
    assert_equal [9, 11], [batch.offset_after(5), batch.offset_after(9)]
    assert_equal [3, 21], [batch.offset_after(2), batch.offset_after(20)], "of other batches it knows nothing"
    assert_equal 6, batch([5, 6], %i[a b], filtering: false).offset_after(5)
  end

  def test_messages_from_an_offset_on
    assert_equal [7], batch([5, 6, 7], [:a, D, :b]).messages(6, topic).map(&:offset)
    assert_empty batch([5, 6], [D, D]).messages(0, topic)
  end

  def test_messages_taken_out_stay_out
    batch = batch([1, 2, 3], %i[a b c], filtering: false)
    batch.leave_out([2])
    assert_equal [1, 3], batch.messages(0, topic).map(&:offset)
    assert_equal 3, batch.offset_after(1)
  end

  def test_failures_raise_their_own_error_and_only_there
    failure = Guildhall::Failure.of(Guildhall::DecodeError.new("bad bytes"), 1)
    messages = batch([1, 2, 3], [:a, failure, :c], filtering: false).messages(0, topic)
    assert_equal [2], messages.failures.map(&:offset)
    assert_equal(%i[a c], messages.each_decoded.map { |_, payload| payload })
    assert_equal "bad bytes", assert_raises(Guildhall::DecodeError) { messages[1].payload }.message
    assert_equal :c, messages.last.payload
    assert_predicate messages[2], :deserialized?
    refute_predicate messages[1], :deserialized?
  end

  def test_where_the_iteration_has_come_to
    messages = batch([1, 2, 3], %i[a b c], filtering: false).messages(0, topic)
    messages.each { |message| break if message.offset == 2 }
    messages.failures
    assert_equal 2, messages.current.offset
    messages.each { nil }
    assert_nil messages.current
  end
end
