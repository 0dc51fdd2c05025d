# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "logger"
require "stringio"

class KafkaLogTest < GuildhallTest
  def test_events_become_lines_of_their_level
    out = StringIO.new
    instrumentation = Guildhall::Instrumentation.new(Guildhall::Kafka::Events::NAMES)
    Guildhall::Kafka::Log.attach(Logger.new(out, level: Logger::INFO), instrumentation)
    instrumentation.publish("error.occurred", error: RuntimeError.new("bad"), type: "consumer.consume", topic: "t", partition: 3)
    instrumentation.publish("consumer.consumed", topic: "t", partition: 3, size: 1)
    instrumentation.publish("partition.stalled", topic: "t", partition: 3)
    lines = out.string.lines
    assert_equal 2, lines.size
    assert_match(/ERROR.*error.occurred type=consumer.consume topic=t partition=3: RuntimeError: bad/, lines.first)
    assert_match(/WARN.*partition.stalled topic=t partition=3/, lines.last)
  end
end
