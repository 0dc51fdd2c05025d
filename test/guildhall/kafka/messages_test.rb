# frozen_string_literal: true

require "test_helper"
require "support/kafka_records"
require "support/kafka_partition"

class KafkaMessagesTest < GuildhallTest
  include KafkaRecords

  # The call of `consume`: notes marks.
  class Call
    attr_reader :marked, :only

    def initialize = @marked = []
    def mark(message) = @marked << message.offset

    def only_marks
      @only = true
      yield
      @only = false
    end
  end

  def messages(outcomes, call = nil)
    records = outcomes.each_index.map { |index| KafkaPartition::Record.new(index + 1, "x") }
    results = outcomes.dup
    def results.wait = nil
    def results.filtering? = false
    Guildhall::Kafka::Messages::Batch.new(records, results, route, bytes: 1).messages((0...outcomes.size).to_a, call)
  end

  def failure(error) = Guildhall::Failure.of(error)

  def test_failures_raise_their_own_error_and_only_there
    messages = messages([:a, failure(Guildhall::DecodeError.new("bad bytes")), :c])
    assert_equal [2], messages.failures.map(&:offset)
    assert_equal(%i[a c], messages.each_decoded.map { |_, payload| payload })
    assert_equal "bad bytes", assert_raises(Guildhall::DecodeError) { messages[1].payload }.message
    assert_equal :c, messages.last.payload
    assert_predicate messages[2], :deserialized?
    refute_predicate messages[1], :deserialized?
  end

  def test_an_outage_is_no_answer_to_what_is_wrong_with_a_payload
    errors = [Errno::ECONNREFUSED.new("registry"), Guildhall::ValidationError.new("bad"), NoMethodError.new("nil")]
    messages = messages(errors.map { |error| failure(error) })
    assert_raises(Errno::ECONNREFUSED) { messages[0].failure }
    assert_raises(Errno::ECONNREFUSED) { messages.failures }
    assert_raises(Errno::ECONNREFUSED) { messages.undecodable }
    assert_raises(Errno::ECONNREFUSED) { messages.each_decoded { nil } }
    assert_equal [true, false], [messages[1].undecodable?, messages[2].undecodable?]
    assert_equal "nil", messages[2].failure.message
  end

  def test_what_the_consumer_has_looked_at
    messages = messages(%i[a b c])
    assert_nil messages.last_read
    assert_equal [1, 3], [messages.first_offset, messages.last_offset]
    assert_nil messages.last_read, "offsets are no messages"
    messages.each { |message| break if message.offset == 2 }
    assert_equal 2, messages.last_read
    messages.first
    assert_equal 2, messages.last_read
    messages.map(&:payload)
    assert_equal 3, messages.last_read
  end

  def test_each_marking_marks_each_message_behind_the_block
    call = Call.new
    seen = []
    messages(%i[a b c], call).each_marking { |message| seen << [message.offset, call.marked.dup] }
    assert_equal [[1, []], [2, [1]], [3, [1, 2]]], seen
    assert_equal [[1, 2, 3], false], [call.marked, call.only]
  end

  def test_each_marking_that_is_left_early_leaves_it_to_the_marks
    call = Call.new
    messages(%i[a b c], call).each_marking { |message| break if message.offset == 2 }
    assert_equal [[1], true], [call.marked, call.only]
  end

  def test_steps_from_message_to_message_each_given_out_once
    messages = messages(%i[a b c])
    assert_equal [[1, 2], [2, 3]], messages.next_steps(2)
    assert_empty messages.next_steps(2)
    assert_equal [[3, 4]], messages.next_steps
  end
end
