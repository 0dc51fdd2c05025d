# frozen_string_literal: true

require "test_helper"
require "json"
require "shellwords"
require "stringio"
require "guildhall/cli"
require "guildhall/kafka"
require "guildhall/kafka/cli"
require "guildhall/kafka/testing"
require "guildhall/msgpack"

# `guildhall read` and `guildhall produce`, in this process.
class KafkaReadTest < GuildhallTest
  # A terminal of so many columns.
  class Terminal < StringIO
    def initialize(columns)
      @columns = columns
      super()
    end

    def tty? = true
    def winsize = [24, @columns]
  end

  def setup
    Guildhall::Kafka.reset
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("t", partitions: 2)
    @broker.create_topic("copy", partitions: 2)
  end

  def teardown
    Guildhall::Kafka.stop(timeout: 5)
    Guildhall::Kafka.reset
    @broker.stop
  end

  def run_command(command, *arguments, out: StringIO.new)
    err = StringIO.new
    status = command.new(out:, err:, cli: nil).run([*arguments, "-b", @broker.bootstrap_servers.to_s, "-X", "log_level=0"])
    [(out.string if out.is_a?(StringIO)), err.string, status]
  end

  def read(*arguments, **) = run_command(Guildhall::Kafka::CLI::Read, *arguments, **)

  # @param input [String] what comes on standard input
  def produce(input, *arguments)
    reader, writer = IO.pipe
    feeding = Thread.new do
      writer.write(input)
    rescue Errno::EPIPE # not all of it is read
      nil
    ensure
      writer.close
    end
    command = Class.new(Guildhall::Kafka::CLI::Produce) { define_method(:input) { reader } }
    command.define_singleton_method(:command_name) { "produce" }
    run_command(command, *arguments)
  ensure
    reader.close
    feeding.join
  end

  def objects(text) = text.lines.map { |line| ::JSON.parse(line) }
  def orders(count = 40) = Array.new(count) { |i| %({"id":#{i},"total":#{i * 2}}\n) }.join

  def test_a_condition_and_the_account
    assert_equal ["", 0], produce(orders, "t", "--key", "$.id").values_at(0, 2)
    out, err, status = read("t", "--where", "$.total > 70", "--format", "raw")
    assert_equal [%w[72 74 76 78], 0], [objects(out).map { |order| order["total"].to_s }.sort, status]
    assert_match(/\Aguildhall: 4 found; searched 40 messages \(\d+ B\) of 2 partitions: 0@0\.\.\d+ 1@0\.\.\d+ in \d\.\d s\n\z/, err)
    out, err, status = read("t", "--where", "$.none")
    assert_equal ["", 1], [out, status]
    assert_match(/\Aguildhall: 0 found; searched 40 messages/, err)
    assert_equal ["", 1], read("t", "--where", "$.none", "--quiet").values_at(1, 2)
  end

  def test_a_whole_topic_says_nothing_beside
    produce(orders(3), "t")
    out, err, status = read("t")
    assert_equal [3, "", 0], [out.lines.size, err, status]
  end

  def test_the_limit_and_how_to_continue
    produce(orders, "t", "--partition", "0")
    out, err, status = read("t", "--where", "$.id >= 10", "--limit=7", "-o", "%v\\n")
    assert_equal [[*10..16], 0], [objects(out).map { |order| order["id"] }, status]
    command = Shellwords.split(err[/to continue: (.*)$/, 1])
    assert_equal %w[guildhall read t --where] + ["$.id >= 10", "--limit=7", "-o", "%v\\n"], command.first(8)
    assert_equal "0:17", command.last
    out, = read(*command.drop(2).each_slice(1).to_a.flatten.then { |all| all - ["-b", @broker.bootstrap_servers.to_s] })
    assert_equal [*17..23], objects(out).map { |order| order["id"] }
  end

  # A registry that does not answer, say.
  def test_an_error_amid_the_search
    produce(orders(3), "t", "--partition", "1")
    seen = 0
    failing = ->(bytes) { (seen += 1) < 3 ? JSON.parse(bytes) : raise(Guildhall::TimeoutError, "the registry does not answer") }
    Guildhall::Kafka.routes { topic("t") { deserializer failing } }
    _, err, status = read("t", "--where", "$.id == 0")
    assert_equal 2, status
    assert_match(/\Aguildhall: 1 found; searched 2 messages.*\nguildhall: to continue: .* --from 1:2\nguildhall: the registry does not answer\n\z/, err)
  end

  def test_no_secret_is_printed
    produce("a\nb\n", "t")
    _, err, = read("t", "--limit", "1", "-X", "sasl.password=hush", "-Xssl.key.password=hush", "--setting=ssl.keystore.password=hush",
      "--registry", "http://me:hush@localhost", "--registry=http://me:hush@localhost")
    assert_includes err, "to continue: guildhall read t --limit 1 -X 'sasl.password=[hidden]'"
    refute_includes err, "hush"
    error = assert_raises(Guildhall::ArgumentError) { read("t", "--set=sasl.password=hush") }
    assert_equal "invalid option: --set; did you mean --setting? (guildhall read --help)", error.message
  end

  def test_a_line_that_no_producer_takes
    lines = ["1", "2", %(3","partition":99999999999999999999,"a":"), %(4","timestamp":9223372036854775807,"a":"), %q(5","headers":{"\u0000":"x"},"a":"), "6"]
    out, err, status = produce(lines.map { |line| %({"payload":"#{line}"}\n) }.join, "t", "--json-lines")
    assert_equal ["", 1], [out, status]
    assert_equal 3, err.scan("a message not sent: ").size
    assert_includes err, "3 messages (3 bytes) delivered to t in"
    assert_equal %w[1 2 6], read("t", "-o", "%v\n").first.split.sort
  end

  def test_a_line_that_is_longer_than_any_message
    out, err, status = produce("one\n#{"x" * 100_500_000}\ntwo\n", "t")
    assert_equal ["", 1], [out, status]
    assert_match(/\Aguildhall: line 2 not sent: it is longer than 100000000 bytes; what follows it is not read\nguildhall: 1 message \(3 bytes\) delivered to t in \d+\.\d s, 1 not delivered\n\z/, err)
  end

  def test_output_that_cannot_be_written
    skip "there is no /dev/full" unless File.exist?("/dev/full")
    produce("one\n", "t")
    [[], %w[--follow --from earliest]].each do |options|
      out = File.new("/dev/full", "w")
      _, err, status = run_command(Guildhall::Kafka::CLI::Read, "t", *options, out:)
      assert_equal 2, status
      assert_includes err, "No space left on device"
    ensure
      begin
        out.close # writes what is left
      rescue Errno::ENOSPC
        nil
      end
    end
  end

  def test_a_rate_that_is_no_rate
    ["0", "1#{"0" * 400}", "-1"].each do |rate|
      assert_match(/--rate takes a number of messages/, assert_raises(Guildhall::ArgumentError) { produce("a", "t", "--rate=#{rate}") }.message)
    end
  end

  def test_an_empty_name
    assert_match(/\Aa name is empty/, assert_raises(Guildhall::ArgumentError) { produce("a", "") }.message)
  end

  def test_keys_and_headers
    produce(orders(20), "t", "--key", "$.id", "--header", "source=shop", "-H", "x=")
    produce(orders(5), "t", "--key", "all")
    out, err, = read("t", "--key", "7", "--json")
    assert_equal([["7", {"source" => ["shop"], "x" => [""]}]], objects(out).map { |one| one.values_at("key", "headers") })
    assert_includes err, "of 1 partition:"
    assert_includes read("t", "--key", "7", "--all-partitions")[1], "of 2 partitions:"
    assert_equal [20, 20, 0, 5], [["-H", "source"], ["-H", "source=shop"], ["-H", "source=other"], ["--key", "all"]].map { |some| read("t", *some).first.lines.size }
  end

  def test_formats
    produce("a\tb\n", "t", "--key", "k", "--header", "h=1", "--header", "i=2")
    assert_equal "t/#{partition_of("k")}@0 k a\tb h=1,i=2 1 3 %\0\e\\A\n", read("t", "-o", "%t/%p@%o %k %v %h %K %S %%\\0\\e\\\\\\x41\\n").first
    assert_equal "a\tb\n", read("t", "-o", "raw").first
    out, = read("t", "-o", "table")
    assert_match(/\APARTITION  OFFSET +TIME +KEY +PAYLOAD\n\d +0 +20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +k +a\\u\{9\}b\n\z/, out)
    {"tabel" => "did you mean table?", "%q" => "there is no %q", "%v\\q" => "no escape \\q"}.each do |format, message|
      assert_includes assert_raises(Guildhall::ArgumentError) { read("t", "-o", format) }.message, message
    end
  end

  def test_a_table_fits_the_terminal
    produce("#{"x" * 500}\n", "t", "--key", "k" * 50)
    [60, 120].each do |columns|
      out, = read("t", out: Terminal.new(columns))
      assert_operator out.lines.map { |line| line.chomp.size }.max, :<=, columns
      assert_includes out, "…"
    end
  end

  def test_binary_messages_come_back_as_they_were
    payloads = ["\xFF\x00\n".b, "text", "", "ü"]
    producer = Guildhall::Kafka::Producer.new({"bootstrap.servers": @broker.bootstrap_servers.to_s})
    producer.produce_many_sync(payloads.each_with_index.map { |payload, i| {topic: "t", payload:, key: "\xFE#{i}".b, partition: i % 2, headers: {"a" => ["\xFD".b, "x"], "b" => nil, "c" => "ü"}} })
    producer.produce_sync(topic: "t", payload: nil, key: "gone", partition: 1, timestamp: 1_700_000_000_123)
    producer.close
    first, = read("t", "--json")
    assert_equal [0, 5], [produce(first, "copy", "--json-lines").last, objects(first).size]
    second, = read("copy", "--json")
    normal = ->(text) { objects(text).map { |one| one.except("topic") }.sort_by { |one| one.values_at("partition", "offset") } }
    assert_equal normal.call(first), normal.call(second)
    assert_includes objects(first).filter_map { |one| one["payload_base64"] }, ["\xFF\x00\n".b].pack("m0")
    assert_equal [nil, "gone", 1_700_000_000_123], objects(second).find { |one| one["key"] }.values_at("payload", "key", "timestamp")
  end

  def test_dead_letters_are_explained
    headers = {"source_topic" => "orders", "source_partition" => "3", "source_offset" => "4711", "source_consumer_group" => "billing", "source_attempts" => "3",
               "source_error_class" => "RuntimeError", "source_first_failed_at" => "2026-11-27T03:00:00.000Z", "own" => "1"}
    produce(::JSON.generate(key: "k", payload: "x", headers:), "t", "--json-lines")
    source = objects(read("t", "--json").first).first.fetch("source")
    assert_equal ["orders", 3, 4711, "billing", 3, "RuntimeError", "2026-11-27T03:00:00.000Z"],
      source.values_at("topic", "partition", "offset", "consumer_group", "attempts", "error_class", "first_failed_at")
    assert_includes read("t", "-o", "table").first, "    from orders/3@4711, group billing, 3 attempts (first at 2026-11-27 03:00:00): RuntimeError\n"
    refute_includes read("t", "--json", "-H", "none").first, "source"
  end

  def test_codecs
    assert_equal 0, produce(orders(5), "t", "--codec", "msgpack").last
    out, = read("t", "--codec", "msgpack", "--where", "$.id == 3", "--json")
    assert_equal [{"id" => 3, "total" => 6}, true], objects(out).first.then { |one| [one["value"], one.key?("payload_base64")] }
    assert_includes read("t", "--codec", "msgpack", "-o", "table", "--where", "$.id == 3").first, '{"id":3,"total":6}'
    error = assert_raises(Guildhall::ArgumentError) { read("t", "--codec", "avro") }
    assert_includes error.message, "--registry URL"
    out, err, status = read("t", "--where", "$.id == 3", "--undecodable", "-o", "table")
    assert_equal [5, 0], [out.scan("not decoded: ParseError").size, status]
    assert_includes err, "5 not decodable"
  end

  def test_lines_that_are_no_messages
    lines = ['{"payload":"a","partition":0}', "{broken", '{"payload_base64":"?"}', "7", '{"payload":{"n":1}}', "", '{"key":1}', '{"payload":"x","timestamp":"?"}']
    _, err, status = produce(lines.join("\n"), "t", "--json-lines")
    assert_equal 1, status
    [2, 3, 4, 7, 8].each { |number| assert_includes err, "guildhall: line #{number} not sent: " }
    assert_match(/2 messages \(8 bytes\) delivered to t in .* s, 5 not delivered, 1 empty lines left out$/, err)
    assert_equal ["a", '{"n":1}'], read("t", "-o", "raw").first.lines(chomp: true).sort
    _, err, status = produce(%({"id":1}\n{"no":1}\n), "t", "--key", "$.id", "--quiet")
    assert_equal [1, true], [status, err.include?("line 2 not sent: no key at $.id")]
  end

  def test_a_rate
    began = Guildhall::Clock.now
    assert_equal 0, produce(orders(10), "t", "--rate", "20/s").last
    assert_operator Guildhall::Clock.now - began, :>=, 0.4
    assert_raises(Guildhall::ArgumentError) { produce("", "t", "--rate", "fast") }
  end

  # Lines are sent as they come.
  def test_lines_are_not_held_back_and_an_interrupt_ends_both
    reader, writer = IO.pipe
    command = Class.new(Guildhall::Kafka::CLI::Produce) { define_method(:input) { reader } }
    command.define_singleton_method(:command_name) { "produce" }
    writer.write("one\ntwo\nthr")
    watching = Thread.new do
      eventually { @broker.watermarks("t", 0).last + @broker.watermarks("t", 1).last == 2 }
      Process.kill("INT", Process.pid)
    end
    _, err, status = run_command(command, "t")
    reader.close
    watching.join
    assert_equal [130, true], [status, err.include?("interrupted: 2 messages (6 bytes) delivered to t")]
    out = StringIO.new
    watching = Thread.new do
      eventually { out.string.lines.size == 2 }
      Process.kill("INT", Process.pid)
    end
    _, err, status = read("t", "--follow", "--from", "earliest", "-o", "raw", out:)
    watching.join
    assert_equal [130, %w[one two]], [status, out.string.split.sort]
    assert_match(/2 found; searched 2 messages .*\nguildhall: to continue: guildhall read t --follow -o raw -b \S+ -X log_level=0 --from 0:\d,1:\d\n\z/m, err)
  ensure
    writer.close
  end

  def test_mistakes
    assert_includes assert_raises(Guildhall::ArgumentError) { read }.message, "which topic? guildhall read TOPIC"
    assert_includes assert_raises(Guildhall::ArgumentError) { read("t", "--where", "total > 5") }.message, "position 0"
    assert_includes assert_raises(Guildhall::ArgumentError) { read("t", "--partition", "9") }.message, "partitions 0 to 1, not 9"
    assert_includes assert_raises(Guildhall::ArgumentError) { read("t", "--partition", "x") }.message, "--partition takes numbers"
    assert_includes assert_raises(Guildhall::ArgumentError) { read("t", "--follow", "--until", "5") }.message, "--follow has no end"
    assert_includes assert_raises(Guildhall::ArgumentError) { read("tt") }.message, "there is no topic tt"
    assert_includes assert_raises(Guildhall::ArgumentError) { produce("x", "other") }.message, "guildhall topics create other"
    assert_includes assert_raises(Guildhall::ArgumentError) { produce("x", "t", "--partition", "5") }.message, "partitions 0 to 1, not 5"
    assert_includes assert_raises(Guildhall::ArgumentError) { produce("x", "t", "--codec", "route") }.message, "no route"
    assert_includes assert_raises(Guildhall::ArgumentError) { produce("x") }.message, "which topic? guildhall produce TOPIC < FILE"
  end

  def test_without_input
    terminal = Terminal.new(80)
    command = Class.new(Guildhall::Kafka::CLI::Produce) { define_method(:input) { terminal } }
    command.define_singleton_method(:command_name) { "produce" }
    assert_includes assert_raises(Guildhall::ArgumentError) { run_command(command, "t") }.message, "guildhall produce t < file.ndjson"
  end

  private

  def partition_of(key) = Rdkafka::Bindings.partitioner(nil, key, 2, "murmur2_random")
end
