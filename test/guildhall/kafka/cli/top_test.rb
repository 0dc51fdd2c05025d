# frozen_string_literal: true

require "json"
require "stringio"
require "tmpdir"
require "test_helper"
require "guildhall/cli"
require "guildhall/kafka"
require "guildhall/kafka/cli"

class KafkaTopTest < GuildhallTest
  TOKEN = "0123456789abcdef"
  ROW = {"partition" => 0, "state" => "waiting", "attempt" => 1, "position" => 90, "end_offset" => 100, "lag" => 10, "age" => 2.0, "in_memory" => 0}.freeze
  REPORT = {"v" => 1, "kind" => "state", "app" => "shop", "process" => "web:7:x", "host" => "web", "pid" => 7, "at" => 1_000.0, "started" => 880.0,
            "state" => "running", "live" => [], "ready" => [], "rss" => 200 << 20, "rss_limit" => 512 << 20, "cpu" => 10.0, "gc" => 1.0,
            "runners" => {"all" => 5, "busy" => 2, "waiting" => 1}, "flight" => {"messages" => 12}, "groups" => [],
            "topics" => [{"topic" => "orders", "group" => "billing", "partitions" => [ROW]}]}.freeze
  Health = Guildhall::Kafka::Health
  # A terminal.
  class Terminal < StringIO
    attr_accessor :winsize

    def tty? = true
  end

  def setup
    @servers = []
    @before = ENV.fetch("GUILDHALL_STATE_TOKEN", nil)
    ENV["GUILDHALL_STATE_TOKEN"] = TOKEN
  end

  def teardown
    @others&.each { |server, thread| server.close || thread.join }
    @servers.each(&:stop)
    ENV["GUILDHALL_STATE_TOKEN"] = @before
  end

  # @return [String] the URL of a process that answers with the reports, one after the other
  def serve(*reports, token: TOKEN)
    health = Struct.new(:live, :ready).new
    server = Guildhall::Kafka::Probes.new({host: "127.0.0.1", port: 0, token:}.compact, health) { reports.size > 1 ? reports.shift : reports.first }
    @servers << server.start
    "http://127.0.0.1:#{server.port}"
  end

  # @return [String] the URL of something else, which answers with any bytes
  def serve_bytes(bytes)
    server = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new do
      client = server.accept
      client.readpartial(4_096)
      client.write(bytes)
      client.close
    rescue IOError
      nil # nobody has asked
    end
    (@others ||= []) << [server, thread]
    "http://127.0.0.1:#{server.addr[1]}"
  end

  def serve_json(text) = serve_bytes("HTTP/1.1 200 OK\r\nContent-Length: #{text.bytesize}\r\nConnection: close\r\n\r\n#{text}")

  def top(*arguments, out: StringIO.new)
    err = StringIO.new
    status = Guildhall::CLI.new(out:, err:).run(["top", *arguments])
    [out.string, err.string, status]
  end

  def test_printed_once_where_nobody_looks
    out, err, status = top(serve(REPORT))
    assert_equal ["", 0], [err, status]
    headline, calm, empty, *tables = out.lines(chomp: true)
    assert_match(/\A\d\d:\d\d:\d\d  shop: 1 process, 1 partition, 10 messages behind, the oldest 2 s\z/, headline)
    assert_equal ["nothing needs attention", "", "PROCESS  STATE    UP     MEMORY          RUNNERS  IN FLIGHT",
                  "web:7    running  2m00s  200 of 512 MiB  2/5 +1   12", "",
                  "GROUP    TOPIC     STATE    LAG  OLDEST  DONE  END  ATTEMPT  PROCESS", "billing  orders/0  waiting  10   2 s     90    100  1        web:7"],
      [calm, empty, *tables]
  end

  def test_as_json
    out, = top("--json", serve(REPORT), serve({**REPORT, "process" => "web:8:x", "pid" => 8}))
    assert_equal [7, 8], out.lines.map { |line| JSON.parse(line)["pid"] }
  end

  def test_rates_come_with_the_second_look_and_what_needs_attention_first
    worse = {**ROW, "partition" => 1, "state" => "backoff", "position" => 3, "rests" => {"backoff" => {"since" => 1.0, "left" => 2.0}}}
    later = {**REPORT, "at" => 1_002.0, "cpu" => 11.0, "gc" => 1.1,
                       "topics" => [{"topic" => "orders", "group" => "billing", "partitions" => [{**ROW, "position" => 100, "end_offset" => 104, "lag" => 4}, worse]}]}
    out = watch([24, 200], serve(REPORT, later))
    assert_match(%r{^! +orders/1: backing off: next attempt in 2 s;}, out)
    assert_match(/^web:7 +running +2m02s +200 of 512 MiB +0\.50 +5 % /, out)
    assert_match(%r{^billing  orders/1 .*\n^billing  orders/0 +waiting +4 +2 s +100 +104 +2\.0 +5\.0 }, out)
  end

  def test_a_narrow_terminal_loses_columns_and_sentences_are_wrapped
    row = {**ROW, "state" => "backoff", "rests" => {"backoff" => {"since" => 1.0, "left" => 2.0}},
                  "error" => {"error_class" => "KeyError", "message" => "m" * 30, "place" => "app/orders.rb:7", "kind" => "counted", "failures" => 1, "now" => true}}
    out = watch([40, 50], serve({**REPORT, "topics" => [{"topic" => "orders", "group" => "billing", "partitions" => [row]}]}))
    lines = out.gsub(/\e\[[?\d]*[A-Za-z]|\r/, "").lines(chomp: true)
    assert_operator lines.map(&:size).max, :<=, 50
    assert lines.any? { |line| line.match?(%r{\Aorders/0 +backing off +10 }) }, lines
    assert_includes lines.map(&:strip).join(" "), "the message is retried until it succeeds"
  end

  def test_a_terminal_of_twenty_columns_still_says_which_process_and_which_partition
    topic = {"topic" => "orders.of.the.whole.world", "group" => "billing", "partitions" => [ROW]}
    terminal = Terminal.new
    terminal.winsize = [40, 20]
    out, = top("--once", serve({**REPORT, "release" => "v7", "topics" => [topic]}), out: terminal)
    assert_match(/^PROCESS +STATE/, out)
    assert_match(/^web:7 +running/, out)
    assert_match(%r{^orders…\S+/0 +waiting}, out)
  end

  def test_who_does_not_answer_is_named
    free = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    out, _, status = top(serve(REPORT), "127.0.0.1:#{free}")
    assert_equal 3, status
    assert_match(%r{^!! http://127\.0\.0\.1:#{free}/state: no answer: .*refused}i, out)
    out, err, status = top("--json", "127.0.0.1:#{free}")
    assert_equal ["", 1], [out, status]
    assert_match(/no answer/, err)
  end

  def test_whatever_answers_there_the_others_are_shown
    no_report = ["null", "[]", '"x"', '{"status":"UP"}', '{"v":2,"kind":"state"}', '{"v":1,"kind":"error"}'].map { |text| serve_json(text) }
    no_http = ["SSH-2.0-OpenSSH_9\r\n", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", ""].map { |text| serve_bytes(text) }
    out, err, status = top(*no_report, serve(REPORT), *no_http, serve_json("[" * 200))
    assert_equal ["", 3], [err, status]
    assert_match(/^\S+  shop: 1 process, /, out)
    lines = out.lines.grep(/^!! http/)
    assert_equal [6, 4], [lines.grep(/it answers, but not with a report of version 1: /).size, lines.grep(/no answer: /).size], out
    out, = top(serve_json("null"))
    assert_match(/\A\d\d:\d\d:\d\d  0 processes, 0 partitions$/, out)
  end

  def test_bytes_that_are_no_text
    url = serve_json(JSON.generate({**REPORT, "live" => [{"code" => "failed", "text" => "XX #{"y " * 50}"}]}).sub("XX", "\xff\xfe"))
    terminal = Terminal.new
    terminal.winsize = [24, 40]
    out, _, status = top("--once", url, out: terminal)
    assert_equal [0, true], [status, out.valid_encoding?]
  end

  def test_a_process_that_is_named_twice_is_counted_once
    url = serve(REPORT)
    assert_match(/  shop: 1 process, 1 partition, 10 messages behind/, top(url, url.sub("127.0.0.1", "localhost")).first)
  end

  def test_an_address_of_ipv6
    server = Guildhall::Kafka::Probes.new({host: "::1", port: 0, token: TOKEN}, nil) { REPORT }
    @servers << server.start
    out, _, status = top("[::1]:#{server.port}")
    assert_equal [0, true], [status, out.include?("shop: 1 process")]
  rescue Guildhall::ConfigurationError
    skip("this machine has no IPv6")
  end

  def test_a_token_that_is_refused_and_one_that_is_not_wanted
    out, _, status = top(serve(REPORT, token: "f" * 16), serve(REPORT, token: nil))
    assert_equal 1, status
    assert_includes out, "it refuses the token"
    assert_includes out, "it has no /state: its config.health has no token:"
  end

  def test_a_swarm_s_parent_names_its_processes
    child = serve(REPORT)
    swarm = {"v" => 1, "kind" => "swarm", "process" => "web:1", "host" => "web", "pid" => 1,
             "processes" => [{"number" => 1, "pid" => 7, "port" => URI(child).port}, {"number" => 2, "ended" => "SIGKILL (signal 9)", "port" => 1}]}
    out, _, status = top(serve(swarm))
    assert_equal 0, status
    assert_match(/^!! process 2 of the swarm web:1: does not run: SIGKILL/, out)
    assert_match(/^web:7 +running/, out)
  end

  def test_what_a_process_says_cannot_change_the_terminal
    row = {**ROW, "state" => "blocked", "blocked" => "topic \e[2Jdead\n cannot be written"}
    out, = top(serve({**REPORT, "topics" => [{"topic" => "orders", "group" => "b\e[31m", "partitions" => [row]}]}))
    refute_includes out, "\e"
  end

  def test_wrong_usage
    {["ftp://x"] => "not a URL: ftp://x", ["--interval", "0", "x"] => "--interval must be", ["--token-file", "/nothing", "x"] => "--token-file: No such file"}
      .each { |arguments, text| assert_equal [2, true], top(*arguments).then { |_, err, status| [status, err.include?(text)] }, text }
    assert_equal [2, true], top("").then { |_, err, status| [status, err.include?("not a URL: ")] }
    ENV["GUILDHALL_STATE_TOKEN"] = "0123456789\nabcdef"
    assert_equal [2, true], top("x").then { |_, err, status| [status, err.include?("GUILDHALL_STATE_TOKEN: that is no token")] }
    Dir.mktmpdir do |folder|
      ["", "\xff\xfe\x01"].each do |bytes|
        File.binwrite("#{folder}/token", bytes)
        assert_equal [2, true], top("--token-file", "#{folder}/token", "x").then { |_, err, status| [status, err.include?("--token-file: that is no token")] }
      end
    end
    ENV["GUILDHALL_STATE_TOKEN"] = ""
    assert_equal [2, true], top("127.0.0.1:1").then { |_, err, status| [status, err.include?("no token: set GUILDHALL_STATE_TOKEN")] }
  end

  private

  # Looks twice, and is interrupted.
  def watch(size, url)
    terminal = Terminal.new
    terminal.winsize = size
    main = Thread.current
    thread = Thread.new do
      eventually { terminal.string.scan(/\d\d:\d\d:\d\d +shop/).size >= 2 }
      main.raise(Interrupt)
    end
    _, _, status = top("--interval", "0.1", url, out: terminal)
    thread.join
    assert_equal [0, true], [status, terminal.string.end_with?("\e[?25h")]
    terminal.string
  end
end
