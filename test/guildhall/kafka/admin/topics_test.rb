# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/admin"

# What the answers to requests become: the scenario admin_topics asks real brokers.
class AdminTopicsTest < GuildhallTest
  Done = Data.define(:partition, :offset, :err)
  Report = Struct.new(:offsets)

  # The brokers' answer to one request.
  class Connections
    def initialize(report) = @report = report
    def request(_what) = @report
    def session = self
    def topic(name) = Guildhall::Kafka::Broker::Session::Topic.new(name:, error: nil, leaders: {0 => 1, 1 => 1, 2 => 1, 3 => 1})
  end

  def topics(*done) = Guildhall::Kafka::Admin::Topics.new(Connections.new(Report.new({"t" => done.map { |one| Done.new(*one) }})))

  def test_offsets_that_no_topic_has_are_refused
    [2**63, -1, nil, "5"].each do |before|
      assert_match(/trim: before must be an offset, a Time or :end/, assert_raises(Guildhall::ArgumentError) { topics.trim("t", before:) }.message)
    end
  end

  def test_what_is_left_after_a_trim
    assert_equal({0 => 5, 1 => 7}, topics([0, 5, 0], [1, 7, 0]).trim("t", before: 7))
  end

  def test_a_trim_that_is_refused_in_some_partitions_names_all_of_them
    error = assert_raises(Guildhall::Kafka::KafkaError) { topics([0, -1, 1], [1, 7, 0], [2, -1, 1], [3, -1, 6]).trim("t", before: 7) }
    assert_equal "OFFSET_OUT_OF_RANGE: messages were not deleted in partitions 0, 2 (Broker: Offset out of range), 3 (Broker: Not leader for partition) of topic t; " \
                 "t/1 begins at offset 7 now", error.message
  end

  def test_a_trim_of_a_topic_that_is_only_compacted_says_what_keeps_its_messages
    error = assert_raises(Guildhall::Kafka::KafkaError) { topics([0, -1, 44]).trim("t", before: 7) }
    assert_match(/partition 0 .* of topic t; cleanup.policy of topic t has no "delete": set compact,delete/, error.message)
  end
end
