# frozen_string_literal: true

require "test_helper"
require "guildhall/cli/probe"
require "stringio"

# The command's exit status is what supervisors go by.
class CLIProbeTest < GuildhallTest
  def probe(*arguments)
    @out = StringIO.new
    @err = StringIO.new
    Guildhall::CLI::Probe.new(out: @out, err: @err).run(arguments)
  end

  # Answers one request.
  def server(answer)
    listening = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new do
      socket = listening.accept
      request = socket.readline
      socket.write(answer)
      socket.close
      request
    end
    [listening.addr[1].to_s, thread]
  ensure
    @listening = listening
  end

  def teardown = @listening&.close

  def test_it_asks_what_it_is_told_to
    {[] => "/live", ["ready"] => "/ready"}.each do |what, path|
      port, thread = server("HTTP/1.0 200 OK\r\n\r\nfine")
      assert_equal 0, probe(*what, "--port", port)
      assert_equal "GET #{path} HTTP/1.0\r\n", thread.value
      assert_equal "fine\n", @out.string
      @listening.close
    end
  end

  def test_any_other_answer_is_no
    ["HTTP/1.1 503 Service Unavailable\r\n\r\nstuck", "nonsense", ""].each do |answer|
      port, thread = server(answer)
      assert_equal 1, probe("--port", port), answer
      thread.join
      @listening.close
    end
  end

  def test_no_answer_is_no
    port = TCPServer.open("127.0.0.1", 0) { |listening| listening.addr[1] }
    assert_equal 1, probe("--port", port.to_s)
    assert_match(/\Aguildhall: no answer from 127\.0\.0\.1:#{port} \(config\.health\)/, @err.string)
  end

  def test_wrong_usage
    [%w[dead], %w[live ready], %w[--port], %w[--port x], %w[--timeout soon], %w[--prot 1]].each do |arguments|
      assert_equal 2, probe(*arguments), arguments.inspect
      assert_match(/\Ausage: guildhall probe/, @err.string)
    end
    assert_equal 0, probe("--help")
  end
end
