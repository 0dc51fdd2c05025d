# frozen_string_literal: true

require "test_helper"

class KafkaEmbeddedBrokerTest < GuildhallTest
  PROGRAM = <<~'RUBY'
    require "guildhall/kafka"
    require "guildhall/kafka/testing"
    Guildhall::Kafka::Testing::EmbeddedBroker.start.create_topic("t", partitions: 2)
    fork { nil }.then { |child| Process.wait(child) } # has none of its threads
  RUBY

  # More than every other process crashed.
  def test_a_process_that_does_not_stop_it_ends_in_order
    6.times { assert_ruby(PROGRAM) }
  end
end
