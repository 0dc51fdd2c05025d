# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaCoordinatorTest < GuildhallTest
  NOT_COORDINATOR = 16
  UNKNOWN_GROUP = 69

  def test_asks_again_while_it_settles
    answers = [NOT_COORDINATOR, NOT_COORDINATOR, nil]
    assert_equal :offsets, Guildhall::Kafka::Group::Client.ask_coordinator { answers.shift.then { |code| code ? raise(error(code)) : :offsets } }
    assert_empty answers
  end

  def test_raises_what_will_not_settle
    asked = 0
    raised = assert_raises(Rdkafka::RdkafkaError) { Guildhall::Kafka::Group::Client.ask_coordinator { (asked += 1) && raise(error(UNKNOWN_GROUP)) } }
    assert_equal [1, :group_id_not_found], [asked, raised.code]
  end

  def test_ends_when_the_time_is_up
    assert_raises(Rdkafka::RdkafkaError) { Guildhall::Kafka::Group::Client.ask_coordinator(0) { raise error(NOT_COORDINATOR) } }
  end

  private

  def error(code) = Rdkafka::RdkafkaError.new(code)
end
