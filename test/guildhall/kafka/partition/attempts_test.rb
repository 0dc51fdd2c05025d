# frozen_string_literal: true

require "test_helper"
require "sqlite3"
require "support/kafka_records"
require "guildhall/kafka"

# Which errors of a consumer count as attempts; partition_test.rb shows what comes of those that do.
class KafkaAttemptsTest < GuildhallTest
  include KafkaRecords

  Runtime = Data.define(:config, :contention)
  # A partition that reports to nobody.
  Place = Data.define(:topic, :runtime, :name) do
    def to_s = name
    def reports = self
    def publish(*, **) = nil
  end
  # The consumer has looked at one message.
  Messages = Data.define(:last_offset) do
    def last_read = last_offset
    def failing_offset(_error) = last_offset
  end

  # Attempts of which a test notes errors.
  class Noted < Guildhall::Kafka::Partition::Attempts
    # @return [Boolean] whether the error passes, and so does not count as an attempt
    def note(error, at)
      self.at = at
      before = number
      failed(error, Messages.new(at.last))
      number == before
    end
  end

  def passing(place = "t/0", contention = Guildhall::Kafka::Runtime::Contention.new, &settings)
    settings ||= proc { retries contention_limit: 3 }
    Noted.new(Place.new(route(&settings), Runtime.new(Guildhall::Kafka::Config.new, contention), place)) { nil }
  end

  def deadlock = SQLite3::BusyException.new("database is locked")

  def contended_partitions(count)
    contention = Guildhall::Kafka::Runtime::Contention.new
    Array.new(count) { |number| passing("t/#{number}", contention) }
  end

  def test_an_outage_passes_unless_the_route_says_otherwise
    assert passing.note(Errno::ECONNREFUSED.new, [0, 1])
    refute passing.note(RuntimeError.new, [0, 1])
    refute passing { retries non_retryable: [Errno::ENOENT] }.note(Errno::ENOENT.new, [0, 1])
  end

  def test_a_payload_that_goes_to_the_dead_letters_at_once_does_not_pass
    error = Guildhall::Kafka::UndecodableMessageError.new("no job", codec: "job")
    refute passing { dead_letter_queue topic: "dead", dispatch_undecodable: true }.note(error, [0, 1])
  end

  def test_contention_passes_while_different_messages_have_it
    partitions = contended_partitions(4)
    20.times { assert_equal([true] * 4, partitions.map { |passing| passing.note(deadlock, [0, 1]) }) }
    40.times { |offset| assert partitions.first.note(deadlock, [0, offset]) }
  end

  def test_messages_on_two_partitions_are_taken_for_the_cause_while_a_third_goes_on
    *failing, third = contended_partitions(3)
    rounds = lambda do |&between|
      Array.new(6) do
        between&.call
        failing.map { |passing| passing.note(deadlock, [0, 1]) }
      end
    end
    assert_equal [[true, true]], rounds.call.uniq, "nothing is consumed: it may be the database"
    assert_equal [false, false], rounds.call { third.consumed_up_to(nil) }.last
  end

  # Where one after the other is given up, the database is at fault.
  def test_one_that_was_given_up_fails_until_the_next_is_consumed
    {nothing: 1, progress: 6}.each do |between, expected|
      passing = contended_partitions(1).first
      given_up = (1..6).count do |offset|
        passing.consumed_up_to([0, offset]) if between == :progress
        Array.new(3) { passing.note(deadlock, [0, offset]) }.include?(false)
      end
      assert_equal expected, given_up, between
    end
  end

  def test_a_message_that_has_it_alone_for_long_is_taken_for_the_cause
    one = passing
    assert_equal([true, true, false], Array.new(3) { one.note(deadlock, [0, 1]) })
  end
end
