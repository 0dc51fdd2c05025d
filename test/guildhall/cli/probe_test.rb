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
      assert_equal 0, probe(*what, "--port=#{port}", "--timeout", "30")
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

  def test_no_answer_from_a_port_that_nobody_has_named
    assert_equal 1, probe("--host", "nowhere.invalid")
    assert_match(/\Aguildhall: no answer from nowhere\.invalid:9292 .*; this is the default port: --port N or GUILDHALL_HEALTH_PORT$/, @err.string)
    assert_equal 1, probe("--host", "nowhere.invalid", "--port", "9292")
    refute_match(/default port/, @err.string)
  end

  def test_wrong_usage
    {%w[dead] => "unexpected argument: dead", %w[live ready] => "unexpected argument: ready", %w[--port] => "--port needs a value",
     %w[--port x] => "--port must be a number, not x", %w[--timeout=soon] => "--timeout must be a number, not soon",
     %w[--prot 1] => "unexpected argument: --prot"}.each do |arguments, problem|
      assert_equal 2, probe(*arguments), arguments.inspect
      assert_equal ["guildhall: #{problem}\n", true], [@err.string.lines.first, @err.string.include?("usage: guildhall probe")]
    end
  end

  def test_help_explains_the_options
    assert_equal 0, probe("--help")
    ["--port N ", "GUILDHALL_HEALTH_PORT", "--timeout SECONDS ", "Exit status: 0 yes, 1 no"].each { |text| assert_includes @out.string, text }
  end
end
