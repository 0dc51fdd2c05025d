# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "stringio"

class KafkaLoggingLibrdkafkaLogTest < GuildhallTest
  REFUSED = "rdkafka: [thrd:127.0.0.1:1/bootstrap]: 127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused " \
            "(after %dms in state CONNECT)"

  def setup
    @out = StringIO.new
    @log = Guildhall::Kafka::Logging::LibrdkafkaLog.new(Guildhall::Kafka::Logging.logger(@out))
  end

  def test_an_unreachable_broker_is_one_line_with_the_address_and_what_to_check
    200.times { |index| @log.add(Logger::ERROR, format(REFUSED, index)) }
    assert_equal 1, lines.size
    assert_match(/ERROR Kafka broker 127.0.0.1:1 cannot be reached: Connect to .* failed: Connection refused; check that a broker listens there, and bootstrap.servers$/, lines.first)
    @log.add(Logger::ERROR, "rdkafka: [thrd:nope:9092/bootstrap]: nope:9092/bootstrap: Failed to resolve 'nope:9092': Name or service not known " \
                            "(after 3ms in state CONNECT)")
    assert_match(/Kafka broker nope:9092 cannot be reached: .*; check the host name in bootstrap.servers, and DNS$/, lines.last)
  end

  def test_a_connection_that_is_closed_in_use_is_no_unreachable_broker
    @log.add(Logger::INFO, "rdkafka: [thrd:127.0.0.1:9/1]: 127.0.0.1:9/1: Disconnected (after 3000ms in state UP)")
    assert_match(/INFO  librdkafka: .*Disconnected/, lines.first)
  end

  def test_the_same_line_is_held_back
    50.times { |index| @log.add(Logger::WARN, "rdkafka: [thrd:x]: something odd (after #{index}ms in state UP)") }
    @log.warn("something else")
    assert_equal 2, lines.size
  end

  def test_levels_are_kept
    @log.debug("much")
    @log.info { "little" }
    assert_equal ["INFO  librdkafka: little\n"], lines.map { |line| line.split(" ", 2).last }
  end

  private

  def lines = @out.string.lines
end
