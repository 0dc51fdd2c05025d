# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

# Settings of a topic that exclude each other, or mean nothing.
class KafkaRoutingChecksTest < GuildhallTest
  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  def setup
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "localhost:1"}
  end

  def errors(name = "t", &block)
    @application.routes.draw do
      topic(name) do
        consumer Handles
        instance_eval(&block)
      end
    end
    error = assert_raises(Guildhall::ConfigurationError) { @application.validate! }
    error.message.lines(chomp: true).drop(1).map { |line| line.delete_prefix("  - ").delete_prefix("topic #{name.inspect}: ") }
  end

  def test_what_is_good_is_printed
    @application.routes.draw do
      topic("a") do
        consumer Handles
        transactional
      end
      topic("b") do
        consumer Handles
        assign partitions: {0 => :all, 1 => -10, 2 => Time.now, 3 => 42, 4 => :latest}
      end
    end
    assert_equal 2, @application.validate!.size
    assert_equal ["", "transactional", "partitions 0, 1, 2, 3, 4 without a group"], @application.routes.to_s.lines(chomp: true).map { |line| line[/Handles +(.*)/, 1].to_s }
  end

  def test_transactional_excludes
    assert_equal ["virtual_partitions cannot be transactional: a partition has one transaction at a time",
                  "delivery :at_most_once cannot be transactional: offsets are committed before consume is called",
                  "virtual_partitions cannot keep delivery :at_most_once"].sort,
      errors { transactional; delivery :at_most_once; virtual_partitions partitioner: ->(message) { message.key } }.sort # rubocop:disable Style/Semicolon
  end

  def test_transactional_takes_a_boolean
    assert_equal ["transactional must be true or false, not 3"], errors { transactional 3 }
  end

  def test_transactional_needs_read_committed
    @application.config.kafka = {"bootstrap.servers": "localhost:1", "isolation.level": "read_uncommitted"}
    assert_equal ["transactional needs isolation.level read_committed, which is the default"], errors { transactional }
  end

  def test_transactional_needs_an_idempotent_producer
    @application.config.producer = {acks: 1}
    assert_match(/\Aproducer, for transactional topics: .*acks/, errors { transactional }.first)
  end

  def test_assign_takes_partitions_and_places
    problem = "assign partitions must be a Hash of partitions and where to begin: {0 => :all, 1 => -10}, not "
    [{}, {0 => :some}, {-1 => :all}, {"0" => :all}, 3].each do |partitions|
      setup
      assert_equal ["#{problem}#{partitions.inspect}"], errors { assign partitions: partitions }
    end
  end

  def test_assign_excludes
    assert_equal ["assign cannot be combined with transactional: without a group nothing is committed",
                  "assign cannot be combined with retry_topics: without a group nothing is committed"],
      errors { assign(partitions: {0 => :all}) && transactional && dead_letter_queue(topic: "dead") && retry_topics(5) }.grep(/assign/)
    setup
    assert_equal ["assign needs a topic, not a pattern"], errors(/t/) { assign partitions: {0 => :all} }
  end
end
