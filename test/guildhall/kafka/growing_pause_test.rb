# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaGrowingPauseTest < GuildhallTest
  def test_it_doubles_up_to_its_limit
    pause = Guildhall::Kafka::GrowingPause.new(10..35)
    assert_equal [10, 20, 35, 35], Array.new(4) { pause.grow }
  end

  def test_the_next_length_can_be_asked_for
    pause = Guildhall::Kafka::GrowingPause.new(1..2)
    assert_equal [1, 1, 2], [pause.length, pause.grow, pause.length]
  end
end
