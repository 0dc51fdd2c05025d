# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaVirtualSeatTest < GuildhallTest
  # Ends the thread that runs it.
  class Ending < Guildhall::Kafka::Consumer
    def consume = Thread.exit
  end

  # Notes what it is told.
  class Round
    attr_reader :told

    def succeeded(_messages) = (@told ||= []) << :succeeded
    def failed(error, _messages) = (@told ||= []) << error.class
    def ended = (@told ||= []) << :ended
  end

  def test_a_consumer_that_ends_its_thread_has_failed
    partition = Struct.new(:topic).new(Struct.new(:consumer).new(Ending))
    round = Round.new
    seat = Guildhall::Kafka::Virtual::Seat.new(partition).prepare(round, [])
    Thread.new { seat.run }.join
    assert_equal [Guildhall::TaskError, :ended], round.told
  end
end
