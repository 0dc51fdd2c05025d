# frozen_string_literal: true

require "socket"
require "test_helper"
require "guildhall/kafka"

class KafkaProbesTest < GuildhallTest
  Answer = Guildhall::Kafka::Health::Answer
  Health = Struct.new(:live, :ready)

  def setup
    @health = Health.new(Answer.new(problems: []), Answer.new(problems: ["starting"]))
    @probes = Guildhall::Kafka::Probes.new({host: "127.0.0.1", port: 0}, @health)
    @clients = []
  end

  def teardown
    @probes.close
    @clients.each(&:close)
  end

  def connect(text)
    TCPSocket.new("127.0.0.1", @probes.port).tap do |client|
      @clients << client
      client.write(text)
    end
  end

  # Turns the parent's loop until the client is answered.
  def answer(client)
    eventually do
      IO.select(@probes.sockets, nil, nil, 0.05)
      @probes.answer
      client.wait_readable(0)
    end
    client.read
  end

  def sockets
    @probes.answer
    @probes.sockets.size
  end

  def test_live_and_ready
    text = answer(connect("GET /live HTTP/1.1\r\nHost: x\r\n\r\n"))
    assert_match(%r{\AHTTP/1.1 200 OK\r\n.*Content-Length: 3\r\nConnection: close\r\n\r\nok\n\z}m, text)
    assert_match(%r{\AHTTP/1.1 503 Service Unavailable\r\n.*\r\n\r\nstarting\n\z}m, answer(connect("GET /ready HTTP/1.0\r\n\r\n")))
  end

  def test_a_query_is_ignored
    assert_match(%r{\AHTTP/1.1 200 }, answer(connect("GET /live?x=1 HTTP/1.1\r\n\r\n")))
    assert_match(%r{\AHTTP/1.1 503 }, answer(connect("GET /ready? HTTP/1.1\r\n\r\n")))
    assert_match(%r{\AHTTP/1.1 404 .*\r\n\r\nthere are /live, /ready and /metrics}m, answer(connect("GET /?/live HTTP/1.1\r\n\r\n")))
  end

  # As if it sent without end.
  def test_no_more_is_read_than_a_request_may_have
    client = connect("GET /live HT")
    eventually { sockets == 2 }
    reads = 0
    @probes.sockets.last.define_singleton_method(:read_nonblock) { |bytes, **| "x" * bytes if (reads += 1) < 100 }
    @probes.answer
    assert_equal 1, reads
    assert_match(%r{\AHTTP/1.1 404 }, client.read)
  end

  def test_anything_else
    ["GET / HTTP/1.1\r\n\r\n", "POST /live HTTP/1.1\r\n\r\n", "\r\n\r\n", "\xFF" * 9_000].each do |request|
      assert_match(%r{\AHTTP/1.1 404 }, answer(connect(request)), request[0, 20])
    end
  end

  def test_a_client_that_says_nothing_blocks_no_other
    connect("GET /li")
    assert_match(%r{\AHTTP/1.1 200 }, answer(connect("GET /live HTTP/1.1\r\n\r\n")))
    assert_equal 2, @probes.sockets.size
  end

  def test_there_is_a_limit_of_connections_and_those_that_wait_are_answered_later
    most = Guildhall::Kafka::Probes.const_get(:MAX_CLIENTS) # a private constant
    silent = Array.new(most) { connect("GET /l") }
    waiting = connect("GET /live HTTP/1.1\r\n\r\n")
    eventually { sockets == most }
    silent.each(&:close)
    assert_match(%r{\AHTTP/1.1 200 }, answer(waiting))
  end

  def test_a_client_that_is_gone_is_forgotten
    connect("GET /li")
    eventually { sockets == 2 }
    @clients.first.close
    eventually { sockets == 1 }
  end

  def test_a_request_in_parts
    client = connect("GET /live HT")
    eventually { sockets == 2 }
    client.write("TP/1.1\r\n\r\n")
    assert_match(%r{\AHTTP/1.1 200 }, answer(client))
  end

  def test_head_has_no_body
    assert_match(%r{\AHTTP/1.1 503 .*Content-Length: 9\r\nConnection: close\r\n\r\n\z}m, answer(connect("HEAD /ready HTTP/1.1\r\n\r\n")))
  end

  TOKEN = "0123456789abcdef"

  def test_the_state_is_for_those_who_have_the_token
    with_state(token: TOKEN)
    text = answer(connect("GET /state HTTP/1.1\r\nauthorization: Bearer #{TOKEN}\r\n\r\n"))
    assert_match(%r{\AHTTP/1.1 200 OK\r\nContent-Type: application/json\r\n.*Cache-Control: no-store\r\n.*\r\n\r\n\{"v":1\}\n\z}m, text)
    ["", "Authorization: Bearer #{TOKEN}x\r\n", "Authorization: Bearer #{TOKEN[0..-2]}\r\n", "Authorization: Basic #{TOKEN}\r\n",
     "X-Authorization: Bearer #{TOKEN}\r\n", "Authorization: Bearer \r\n"].each do |header|
      text = answer(connect("GET /state HTTP/1.1\r\n#{header}\r\n"))
      assert_match(%r{\AHTTP/1.1 401 Unauthorized\r\nContent-Type: text/plain.*Authorization: Bearer TOKEN}m, text, header)
      refute_includes text, TOKEN
    end
    assert_match(%r{\AHTTP/1.1 401 }, answer(connect("GET /state?token=#{TOKEN} HTTP/1.1\r\n\r\n")))
    assert_match(%r{\AHTTP/1.1 404 }, answer(connect("POST /state HTTP/1.1\r\nAuthorization: Bearer #{TOKEN}\r\n\r\n")))
  end

  def test_without_a_token_there_is_no_state
    with_state
    request = "GET /state HTTP/1.1\r\nAuthorization: Bearer #{TOKEN}\r\n\r\n"
    assert_equal answer(connect("GET /nothing HTTP/1.1\r\n\r\n")), answer(connect(request))
    assert_match(%r{\AHTTP/1.1 404 }, answer(connect(request)))
  end

  def test_the_token_is_in_no_message
    error = assert_raises(Guildhall::ConfigurationError) do
      Guildhall::Kafka::Probes.new({host: "127.0.0.1", port: @probes.port, token: TOKEN}, @health)
    end
    refute_includes error.message, TOKEN
  end

  def test_metrics_where_there_are_none
    assert_match(%r{\AHTTP/1.1 404 }, answer(connect("GET /metrics HTTP/1.1\r\n\r\n")))
  end

  Text = Struct.new(:text)

  # More than the system takes at once, for a client that does not read yet; others are answered meanwhile.
  def test_a_long_answer_blocks_nobody
    text = "guildhall_consumed_messages_total 1\n" * 250_000
    with_metrics(Text.new(text))
    slow = Socket.new(:INET, :STREAM).tap { |client| client.setsockopt(:SOCKET, :RCVBUF, 65_536) }
    @clients << slow
    slow.connect(Addrinfo.tcp("127.0.0.1", @probes.port))
    slow.write("GET /metrics HTTP/1.1\r\n\r\n")
    answer_until { slow.wait_readable(0) }
    assert_equal 1, @probes.sockets.size, "it is not over, and nothing is read from the client any more"
    assert_match(%r{\AHTTP/1.1 200 OK.*ok\n\z}m, answer(connect("GET /live HTTP/1.1\r\n\r\n")))
    rest = Thread.new { slow.read }
    answer_until { rest.join(0.001) }
    assert_match(%r{\AHTTP/1.1 200 OK\r\n.*\r\n\r\n#{Regexp.escape(text[0, 100])}}m, rest.value)
    assert_operator rest.value, :end_with?, text
  end

  def test_what_raises_is_an_error_of_the_server
    failing = Object.new.tap { |one| one.define_singleton_method(:text) { raise KeyError, "key not found: \"ada\"" } }
    with_metrics(failing)
    assert_match(%r{\AHTTP/1.1 500 Internal Server Error\r\n.*\r\n\r\nKeyError\n\z}m, answer(connect("GET /metrics HTTP/1.1\r\n\r\n")))
    assert_match(%r{\AHTTP/1.1 200 }, answer(connect("GET /live HTTP/1.1\r\n\r\n")))
  end

  def test_what_is_not_implemented_is_an_error_of_the_server_as_well
    def @health.ready = raise(NotImplementedError, "by a registry of the application's")
    assert_match(%r{\AHTTP/1.1 500 .*\r\n\r\nNotImplementedError\n\z}m, answer(connect("GET /ready HTTP/1.1\r\n\r\n")))
  end

  def test_a_client_that_cannot_be_read_from_is_forgotten
    client = connect("GET /li")
    eventually { sockets == 2 }
    @probes.sockets.last.define_singleton_method(:read_nonblock) { |*, **| raise EncodingError, "no" }
    @probes.answer
    assert_equal 1, sockets
    assert_nil client.gets
  end

  def test_a_port_that_is_taken_is_an_error_of_the_configuration
    error = assert_raises(Guildhall::ConfigurationError) { Guildhall::Kafka::Probes.new({host: "127.0.0.1", port: @probes.port}, @health) }
    assert_match(/\Aconfig\.health \{host: "127\.0\.0\.1", port: \d+\}: Address already in use/, error.message)
  end

  private

  def with_state(**token)
    @probes.close
    @probes = Guildhall::Kafka::Probes.new({host: "127.0.0.1", port: 0, **token}, @health) { {"v" => 1} }
  end

  def with_metrics(backend)
    @probes.close
    @probes = Guildhall::Kafka::Probes.new({host: "127.0.0.1", port: 0}, @health, [Object.new, backend])
  end

  def answer_until
    eventually(120) do
      @probes.answer
      yield
    end
  end
end
