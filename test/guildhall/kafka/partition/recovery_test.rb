# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

# What is decided about a batch that was not finished; partition_test.rb shows what comes of it.
class KafkaRecoveryTest < GuildhallTest
  Record = Struct.new(:offset)
  Batch = Struct.new(:records, :generation) do
    attr_reader :decoded_again

    def first_offset = records.first.offset
    def decode_again = @decoded_again = true
  end
  Consumed = Struct.new(:last_read, :last_offset) do
    def failing_offset(_error) = nil
  end

  # What is not done is what the test says.
  class Offsets
    attr_accessor :left, :unmarked

    def initialize(left) = @left = left
    def pending(_batch) = @left
    def unmarked_before(_batch) = @unmarked
    def mark_each(_generation) = yield
  end

  # Notes the pauses.
  class Inbox
    attr_accessor :leaving
    attr_reader :pauses

    def initialize = @pauses = []
    def leaving? = @leaving
    def pause(*reason) = @pauses << reason
  end

  Partition = Struct.new(:topic, :name, :number, :progress, :inbox, :application) do
    attr_reader :gone_back

    def reports = Guildhall::Kafka::Partition::Reports.new(self)
    def to_s = "#{name}/#{number}"

    def go_back(offset) = @gone_back = offset
  end

  def recovery(left, &route)
    kafka = KafkaPartition.new(Class.new(Guildhall::Kafka::Consumer) { def consume = nil }, &route)
    @application = kafka.application
    @offsets = Offsets.new(left)
    @inbox = Inbox.new
    @partition = Partition.new(kafka.partition.topic, "t", 0, @offsets, @inbox, @application)
    @batch = Batch.new((100...108).map { |offset| Record.new(offset) }, 0)
    Guildhall::Kafka::Partition::Recovery.new(@partition)
  end

  def fail_together(recovery) = recovery.failed(RuntimeError.new("no"), @batch, Consumed.new(103, 107))

  def test_a_batch_of_which_nothing_is_left_is_done
    recovery = recovery([])
    assert recovery.returned(@batch)
    assert recovery.failed(RuntimeError.new("no"), @batch, Consumed.new(107, 107))
    @offsets.left = nil # a seek has made it void
    assert recovery.returned(@batch)
    assert_empty @inbox.pauses
  end

  def test_a_consumer_that_returns_without_progress_is_called_again_after_a_pause
    recovery = recovery([2, 3])
    refute recovery.returned(@batch, 0)
    assert_empty @inbox.pauses, "there was progress"
    refute recovery.returned(@batch, 2)
    assert_equal [:backoff], @inbox.pauses.map(&:first)
    @inbox.leaving = true
    refute recovery.returned(@batch, 2)
    assert_equal 1, @inbox.pauses.size
  end

  def test_a_failure_is_retried_and_counted_for_the_first_message_that_is_not_done
    recovery = recovery([0, 1, 2])
    2.times { refute fail_together(recovery) }
    assert_equal [3, 2], [recovery.attempt, @inbox.pauses.size]
    @offsets.left = [2]
    refute recovery.returned(@batch)
    assert_equal 1, recovery.attempt
    assert_equal([["consumer.retrying", 100, 1], ["consumer.retrying", 100, 2]],
      @application.events.map { |name, payload| [name, *payload.values_at(:offset, :attempt)] })
  end

  def test_once_retries_are_spent_the_batch_is_halved_without_pauses
    recovery = recovery([*0...8]) { dead_letter_queue topic: "dead", max_retries: 0 }
    sizes = [8]
    until sizes.last == 1
      last = 99 + sizes.last
      refute recovery.failed(RuntimeError.new("no"), @batch, Consumed.new(last, last))
      sizes << recovery.narrow(@batch, @offsets.left).size
    end
    assert_equal [8, 4, 2, 1], sizes
    assert_empty @inbox.pauses
    assert_empty @application.dead_letters
  end

  def test_what_an_earlier_batch_has_left_unmarked_is_delivered_again
    recovery = recovery([0])
    @offsets.unmarked = 95
    refute fail_together(recovery)
    assert_equal 95, @partition.gone_back
    refute recovery.returned(@batch)
    assert_equal 2, @inbox.pauses.size
  end

  def test_before_another_attempt_what_could_not_be_decoded_is_decoded_again
    recovery = recovery([0])
    recovery.prepare(@batch, again: false)
    refute @batch.decoded_again
    assert_equal [0], recovery.prepare(@batch, again: true)
    assert @batch.decoded_again
  end

  def test_what_is_postponed_is_no_attempt
    recovery = recovery([0])
    refute recovery.postpone(@batch)
    assert_equal [1, 1], [recovery.attempt, @inbox.pauses.size]
  end
end
