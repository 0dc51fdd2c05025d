# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "stringio"

class KafkaLoggingLibrdkafkaLogTest < GuildhallTest
  REFUSED = "rdkafka: [thrd:127.0.0.1:1/bootstrap]: 127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused " \
            "(after %dms in state CONNECT)"

  # What a client of a secured broker logs (librdkafka 2.16 and Kafka 4.1), and what is said of it.
  VERIFY = "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker certificate could not be verified, verify that " \
           "ssl.ca.location is correctly configured or root CA certificates are installed (install ca-certificates package)"
  CLOSED = "Disconnected: connection closed by peer: receive 0 after POLLIN"
  SECURED = {
    "[thrd:ssl://127.0.0.1:9093/bootstrap]: ssl://127.0.0.1:9093/bootstrap: #{VERIFY} (after 400ms in state SSL_HANDSHAKE)" =>
      ["127.0.0.1:9093", VERIFY],
    "[thrd:127.0.0.1:9093/bootstrap]: 127.0.0.1:9093/bootstrap: #{CLOSED} (after 3ms in state APIVERSION_QUERY)" => ["127.0.0.1:9093", CLOSED],
    "[thrd:127.0.0.1:9093/bootstrap]: 127.0.0.1:9093/bootstrap: #{CLOSED} (after 1ms in state UP)" =>
      ["127.0.0.1:9093", "#{CLOSED}, just after connecting"],
    "[thrd:ssl://b.example:9093/1]: ssl://b.example:9093/1: Disconnected: SSL connection closed by peer (after 1999ms in state UP)" =>
      ["b.example:9093", "Disconnected: SSL connection closed by peer, just after connecting"],
    "[thrd:ssl://127.0.0.1:9093/bootstrap]: ssl://127.0.0.1:9093/bootstrap: SSL handshake failed: Disconnected: SSL connection closed by peer: " \
    "connecting to a PLAINTEXT broker listener? (after 5ms in state SSL_HANDSHAKE)" =>
      ["127.0.0.1:9093", "SSL handshake failed: Disconnected: SSL connection closed by peer: connecting to a PLAINTEXT broker listener?"],
    "[thrd:sasl_ssl://127.0.0.1:9094/bootstrap]: sasl_ssl://127.0.0.1:9094/bootstrap: SASL authentication error: Authentication failed: " \
    "Invalid username or password (after 371ms in state AUTH_REQ)" =>
      ["127.0.0.1:9094", "SASL authentication error: Authentication failed: Invalid username or password"],
    "[thrd:sasl_plaintext://127.0.0.1:9094/bootstrap]: sasl_plaintext://127.0.0.1:9094/bootstrap: SASL SCRAM-SHA-256 mechanism handshake failed: " \
    "Broker: Unsupported SASL mechanism: broker's supported mechanisms: PLAIN (after 301ms in state AUTH_HANDSHAKE)" =>
      ["127.0.0.1:9094", "SASL SCRAM-SHA-256 mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's supported mechanisms: PLAIN"],
    "[thrd:ssl://127.0.0.1:9095/bootstrap]: ssl://127.0.0.1:9095/bootstrap: Receive failed: error:0A000412:SSL routines::ssl/tls alert bad " \
    "certificate: SSL alert number 42 (after 2ms in state APIVERSION_QUERY)" =>
      ["127.0.0.1:9095", "Receive failed: error:0A000412:SSL routines::ssl/tls alert bad certificate: SSL alert number 42"],
    "[thrd:ssl://127.0.0.1:1/bootstrap]: ssl://127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused " \
    "(after 0ms in state CONNECT, 12 identical error(s) suppressed)" => ["127.0.0.1:1", "Connect to ipv4#127.0.0.1:1 failed: Connection refused"],
    "[thrd:GroupCoordinator]: GroupCoordinator: 127.0.0.1:9092: Connect to ipv4#127.0.0.1:9092 failed: Connection refused (after 0ms in state CONNECT)" =>
      ["127.0.0.1:9092", "Connect to ipv4#127.0.0.1:9092 failed: Connection refused"],
    "[thrd:ssl://[::1]:9093/2]: ssl://[::1]:9093/2: Connection setup timed out in state CONNECT (after 30000ms in state CONNECT)" =>
      ["[::1]:9093", "Connection setup timed out in state CONNECT"]
  }.freeze

  def setup
    @out = StringIO.new
    @unreachable = []
    @log = Guildhall::Kafka::Logging::LibrdkafkaLog.new(Guildhall::Kafka::Logging.logger(@out)) { |*one| @unreachable << one }
  end

  def test_an_unreachable_broker_is_passed_on_and_not_logged
    3.times { |index| @log.add(Logger::ERROR, format(REFUSED, index)) }
    assert_equal [["127.0.0.1:1", "Connect to ipv4#127.0.0.1:1 failed: Connection refused"]] * 3, @unreachable
    @log.add(Logger::ERROR, "rdkafka: [thrd:nope:9092/bootstrap]: nope:9092/bootstrap: Failed to resolve 'nope:9092': Name or service not known " \
                            "(after 3ms in state CONNECT)")
    assert_equal ["nope:9092", "Failed to resolve 'nope:9092': Name or service not known"], @unreachable.last
    assert_empty lines
  end

  def test_whatever_is_logged
    @log = Guildhall::Kafka::Logging::LibrdkafkaLog.new(Logger.new(@out, level: Logger::FATAL)) { |*one| @unreachable << one }
    @log.add(Logger::ERROR, format(REFUSED, 1))
    assert_equal 1, @unreachable.size
  end

  def test_brokers_with_tls_and_sasl
    SECURED.each do |line, (broker, reason)|
      @log.add(Logger::ERROR, "rdkafka: #{line}")
      assert_equal [broker, reason], @unreachable.last, line
    end
    assert_empty lines
  end

  # With `debug: "security"`.
  def test_steps_of_sasl_are_no_failures
    ["SASL SCRAM client in state client-first-message", "SASL SCRAM state server-first-message handled in 185ms"].each do |step|
      @log.add(Logger::DEBUG, "rdkafka: [thrd:sasl_ssl://127.0.0.1:9094/1]: sasl_ssl://127.0.0.1:9094/1: #{step}")
    end
    assert_empty @unreachable
  end

  # It comes with each of the failures above.
  def test_what_openssl_has_to_say_is_a_detail
    @log.add(Logger::ERROR, "rdkafka: [thrd:ssl://127.0.0.1:9093/bootstrap]: ssl://127.0.0.1:9093/bootstrap: kafka: error:030000EA:digital envelope " \
                            "routines::provider signature failure: ECDSA digest_verify_final:")
    assert_empty lines
    assert_empty @unreachable
  end

  # As librdkafka 2.16 logs it for the client of the relay.
  def test_what_the_relay_of_the_outbox_sets_is_no_warning
    settings = {**Guildhall::Kafka::Producing::Settings.patient(Guildhall::Kafka::Config.new), "bootstrap.servers": "127.0.0.1:1"}
    heard = Thread::Queue.new
    client = Guildhall::Kafka::Producing::Client.new(settings) { |event| heard << event }
    said = Enumerator.produce { heard.pop(timeout: 60)&.last.to_s } # beside what it says of the broker
    text = said.find { |line| line.empty? || line.include?("enable.gapless.guarantee is experimental") }
    refute_empty text
    @log.add(Logger::WARN, "rdkafka: #{text}")
    assert_empty lines
  ensure
    client&.close(0)
  end

  def test_where_nobody_wants_to_know
    @log = Guildhall::Kafka::Logging::LibrdkafkaLog.new(Guildhall::Kafka::Logging.logger(@out))
    200.times { |index| @log.add(Logger::ERROR, format(REFUSED, index)) }
    assert_equal 1, lines.size
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
