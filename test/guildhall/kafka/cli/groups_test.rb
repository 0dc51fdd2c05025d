# frozen_string_literal: true

require "test_helper"
require "io/console"
require "json"
require "pty"
require "guildhall/kafka"
require "guildhall/kafka/testing"

# The commands about groups, offsets and lag, each in a process of its own, on the embedded broker, which knows no members. The scenario
# admin_groups is about real ones.
class KafkaGroupsCommandsTest < GuildhallTest
  COMMAND = File.expand_path("../../../../exe/guildhall", __dir__)

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("orders", partitions: 2)
    @settings = {"bootstrap.servers": @broker.bootstrap_servers}
    produce(*Array.new(10) { |i| {topic: "orders", partition: 0, payload: i.to_s, key: "k#{i % 3}"} })
    commit("shop", 3, Guildhall::Kafka::Partition::DoneRanges.dump(3, [4...6, 8...9]))
  end

  def teardown = @broker.stop

  def produce(*messages)
    producer = Guildhall::Kafka::Producer.new(@settings)
    producer.produce_many_sync(messages)
  ensure
    producer.close
  end

  def commit(group, offset, metadata = nil)
    Guildhall::Kafka::Broker::AdminClient.open(@settings) do |admin|
      list = Rdkafka::Consumer::TopicPartitionList.new("orders" => [Rdkafka::Consumer::Partition.new(0, offset, 0, metadata)])
      admin.request("x") { |client| client.alter_consumer_group_offsets(group, list) }
    end
  end

  def committed(group) = Guildhall::Kafka::Admin.open(@settings) { |admin| admin.offsets.of(group).map(&:committed) }

  def guildhall(*arguments, brokers: @broker.bootstrap_servers)
    out, err, status = run_forked(%w[guildhall/cli guildhall/kafka], COMMAND, *arguments, *(["--brokers", brokers.to_s] if brokers),
      env: {"GUILDHALL_PROFILES" => "/nowhere"})
    [out.lines(chomp: true), err.lines(chomp: true), status.exitstatus]
  end

  def test_offsets_of_a_group
    out, err, status = guildhall("offsets", "show", "shop")
    assert_equal [["TOPIC   PARTITION  COMMITTED  BEGIN  END  MESSAGES  DONE  METADATA", "orders  0          3          0      10   7         3     -",
                   "orders  1          -          0      0    0         -     -"], [], 0], [out, err, status]
    out, = guildhall("offsets", "show", "shop", "--json", "--partition", "0")
    row = ::JSON.parse(out.first)
    assert_equal [1, [[4, 5], [8, 8]], [[3, 3], [6, 7]], false], [out.size, *row.values_at("done", "passed_over", "beyond_end")]
  end

  def test_a_reset_says_what_it_would_do
    out, err, status = guildhall("offsets", "reset", "shop", "--to", "7", "--dry-run")
    assert_equal [["TOPIC   PARTITION  COMMITTED  NEW  BEGIN  END  SKIPPED  AGAIN", "orders  0          3          7    0      10   2        1",
                   "orders  1          -          0!   0      0    0        0"], 0], [out, status]
    assert_equal ["shop: 2 of 2 partitions change, 2 messages are skipped, 1 come again",
                  "2 messages of 1 key wait and would never be handled: k0 (orders/0@3, 2)",
                  "1 messages of 1 key wait and come again with what follows: k1 (orders/0@7, 1)"], err
    assert_equal [3, nil], committed("shop")
    out, _, status = guildhall("offsets", "reset", "shop", "--to", "-2", "--yes", "--json")
    assert_equal [0, [1, nil]], [status, committed("shop")]
    row = ::JSON.parse(out.first)
    assert_equal [3, 1, 0, 5, true, %w[k0 k1]],
      [*row.values_at("from", "to", "skipped", "again", "change"), row["parked_again"].map { |key| key["key"] }]
    _, err, status = guildhall("offsets", "reset", "shop", "--to", "+0", "--yes")
    assert_equal [["shop: there is nothing to change"], 0], [err, status]
  end

  # Without it all would seem to be open.
  def test_which_dead_letters_are_open_the_application_says
    out, err, status = guildhall("dlq", "list", "--topic", "orders", "--open")
    assert_equal [[], 2], [out, status]
    assert_match(/--open needs the application/, err.first)
    assert_equal 0, guildhall("dlq", "list", "--topic", "orders").last
  end

  def test_wrong_usage
    {%w[offsets reset shop] => /say where with --to/, %w[offsets reset --to 1] => /of which group\?/, %w[offsets show shop extra] => /unexpected argument: extra/,
     %w[offsets reset shop --to soon] => /--to takes earliest, latest, an offset.*, not "soon"/, %w[offsets show shop -p x] => /--partition takes numbers, not x/,
     %w[offsets delete shop] => /name the topic with --topic/, %w[groups show] => /which group\?/, %w[groups copy a] => /from which group to which\?/,
     %w[groups delete] => /which group\?/, %w[lag --max -1] => /--max must be 0 or more, not -1/, %w[lag --watch 0] => /--watch must be 0.1 or more/, %w[lag --watch 1e400] => /--watch must be 0.1 or more, 86400 at most, not Infinity/,
     %w[lag] => /name groups with --groups/, %w[offsets rest shop] => /no command offsets rest; did you mean reset\?/,
     %w[offsets show shop --topic order] => /there is no topic order; did you mean orders\?/,
     %w[offsets reset shop --to 1] => /nobody is there to answer "reset 2 offsets of shop\?": add --yes/,
     %w[offsets reset shp --to 1 --topic orders] => /there is no consumer group shp; --create commits/}.each do |arguments, text|
      _, err, status = guildhall(*arguments)
      assert_equal 2, status, [arguments, err]
      assert_match text, err.join("\n")
    end
    _, err, status = guildhall("groups", "list", brokers: nil)
    assert_equal [2, true], [status, err.first.start_with?("guildhall: no cluster: name an application with -r ./app.rb")], err
  end

  def test_without_a_broker
    [%w[groups list], %w[offsets show shop], %w[lag --groups shop --watch]].each do |arguments|
      _, err, status = guildhall(*arguments, brokers: "127.0.0.1:1")
      assert_equal 1, status, err
      assert_match(/\Aguildhall: Kafka at 127\.0\.0\.1:1 does not answer/, err.last)
    end
  end

  def test_a_new_group
    _, err, status = guildhall("offsets", "reset", "new", "--to", "5", "--topic", "orders", "--create", "--yes")
    assert_equal [0, [5, 0]], [status, committed("new")], err
  end

  # Stands for a cluster whose brokers do not answer in time that the second group is deleted. Those of the test can delete none.
  def interrupted
    offsets = Object.new
    offsets.define_singleton_method(:of) { |_name| [] }
    groups = Object.new
    groups.define_singleton_method(:[]) { |name| name }
    groups.define_singleton_method(:empty!) { |*| nil }
    groups.define_singleton_method(:delete) do |first, *_others, &done|
      done.call(first)
      raise Interrupt
    end
    Struct.new(:groups, :offsets).new(groups, offsets)
  end

  def test_ctrl_c_amid_deletions_says_what_became_of_each_group
    require "guildhall/cli"
    cluster = interrupted
    out, err = Array.new(2) { StringIO.new }
    command = Guildhall::CLI.new.commands.find { |one| one.command_name == "groups" }::Delete.new(out:, err:, cli: nil)
    command.define_singleton_method(:load_application) { nil }
    command.define_singleton_method(:watch_brokers) { nil }
    command.define_singleton_method(:admin) { |&block| block.call(cluster) }
    assert_raises(Interrupt) { command.run(%w[a b a c --yes]) }
    assert_equal "a was deleted\n", out.string
    assert_equal "b may have been deleted; these were not: c", err.string.lines(chomp: true).last
  end

  def test_a_copy_replaces_only_after_a_question
    out, err, status = guildhall("groups", "copy", "shop", "other")
    assert_equal [["orders  0          -    3    3"], ["1 offsets were copied from shop to other"], 0], [out.drop(1), err, status]
    commit("shop", 5)
    _, err, status = guildhall("groups", "copy", "shop", "other")
    assert_match(/nobody is there to answer "replace what other has committed: 1 messages skipped, 2 again\?"/, err.last)
    assert_equal [2, [3, nil]], [status, committed("other")]
    assert_equal [0, [5, nil]], [guildhall("groups", "copy", "shop", "other", "--yes").last, committed("other")]
  end

  def test_lag_as_a_check
    out, err, status = guildhall("lag", "--groups", "shop")
    assert_equal [%w[shop orders 0 3 10 7], %w[shop orders 1 - 0 0]], out.drop(1).map { |line| line.split.first(6) }
    assert_equal [[], 0], [err, status]
    assert_equal [[], 0], guildhall("lag", "--groups", "shop", "--max", "7").drop(1)
    _, err, status = guildhall("lag", "--groups", "shop", "--max", "6")
    assert_equal 1, status
    assert_match(%r{\Aguildhall: group shop, orders/0 is behind by 7 messages, the oldest [\d.]+ s\z}, err.first)
    assert_equal 1, guildhall("lag", "--groups", "shop", "--max-seconds", "0.001").last
    assert_equal 0, guildhall("lag", "--groups", "shop", "--max-seconds", "1000").last
  end

  # The scenario admin_groups has a group that brokers do not know: this one cannot be asked for groups.
  def test_lag_of_what_is_not_there_passes_no_check
    out, err, status = guildhall("lag", "--groups", "shop", "--topics", "order", "--max", "100")
    assert_equal [[], ["guildhall: shop: nothing was committed in topic order; did you mean orders?"], 2], [out, err, status]
    %w[lag keys].each do |command|
      out, err, status = guildhall(command, "--groups", "shop,none")
      assert_equal [[], 1], [out, status]
      assert_match(/\Aguildhall: .*group none: .*not supported/, err.first)
    end
  end

  # A terminal.
  class Screen
    attr_reader :text

    def initialize(*arguments, size: [12, 100])
      @out, @in, @pid = PTY.spawn({"GUILDHALL_PROFILES" => "/nowhere"}, RbConfig.ruby, COMMAND, *arguments)
      @out.winsize = size
      @text = +""
      @reading = Thread.new do
        loop { @text << @out.readpartial(4_096).force_encoding(Encoding::UTF_8) }
      rescue IOError, Errno::EIO
        nil
      end
    end

    def size=(size)
      @out.winsize = size
    end

    def write(text) = @in.write(text)

    # @return [Integer] the exit status
    def ended
      _, status = Process.wait2(@pid)
      @pid = nil
      @reading.join(5)
      status.exitstatus
    end

    def close
      Process.kill(:KILL, @pid) && Process.wait(@pid) if @pid
      [@out, @in].each(&:close)
    end
  end

  def screen(...)
    screen = Screen.new(...)
    yield screen
  rescue Minitest::Assertion => error
    raise error, "#{error.message}\n#{screen.text.gsub("\e", "<E>")}"
  ensure
    screen&.close
  end

  def test_a_question_on_a_terminal
    {"n\n" => [1, [3, nil]], "y\n" => [0, [0, 0]]}.each do |answer, expected|
      screen("offsets", "reset", "shop", "--to", "earliest", "--brokers", @broker.bootstrap_servers.to_s) do |screen|
        eventually { screen.text.include?("reset 2 offsets of shop? [y/N] ") }
        screen.write(answer)
        assert_equal expected, [screen.ended, committed("shop")]
      end
    end
    screen("offsets", "reset", "shop", "--to", "5", "--brokers", @broker.bootstrap_servers.to_s) do |screen|
      eventually { screen.text.include?("[y/N] ") }
      screen.write("\x03")
      assert_equal [130, [0, 0]], [screen.ended, committed("shop")]
    end
  end

  def test_lag_is_watched_in_place
    screen("lag", "--watch", "0.2", "--groups", "shop", "--max", "7", "--brokers", @broker.bootstrap_servers.to_s) do |screen|
      eventually { screen.text.match?(%r{7 messages in 1 of 2 partitions, the oldest .*GROUP  TOPIC   PARTITION  COMMITTED  END  MESSAGES  SECONDS  IN/S  OUT/S  CAUGHT UP}m) }
      produce({topic: "orders", partition: 0, payload: "x"})
      eventually { screen.text.include?("8 messages in 1 of 2 partitions") }
      assert_match(/\e\[5A\r\e\[J/, screen.text)
      screen.size = [4, 50]
      eventually { screen.text.match?(/\e\[2J\e\[H.*GROUP  TOPIC   PARTITION  MESSAGES  SECONDS\s*\r\n|… \d more/m) }
      @broker.suspend
      eventually { screen.text.include?("no answer: Kafka at ") }
      screen.size = [12, 100]
      @broker.resume
      produce({topic: "orders", partition: 1, payload: "x"})
      eventually { screen.text.include?("9 messages in 2 of 2 partitions") }
      screen.write("\x03")
      assert_equal 1, screen.ended, "as --max says"
      assert_includes screen.text, "\r\e[K\e[?25h"
      assert_match(%r{guildhall: group shop, orders/0 is behind by 8 messages}, screen.text)
    end
  end

  def test_lag_is_appended_where_nobody_looks
    out, out_end = IO.pipe
    err, err_end = IO.pipe
    command = [RbConfig.ruby, COMMAND, "lag", "--groups", "shop", "--brokers", @broker.bootstrap_servers.to_s, "--watch", "0.2"]
    pid = spawn(*command, out: out_end, err: err_end)
    [out_end, err_end].each(&:close)
    assert_match(/\ATIME +GROUP +TOPIC /, out.gets)
    assert_match(/\A\d\d:\d\d:\d\d +shop +orders +0 +3 +10 +7 /, out.gets)
    @broker.suspend
    eventually { err.gets&.match?(/\Aguildhall: \d\d:\d\d:\d\d Kafka at .* does not answer/) }
    @broker.resume
    eventually { err.gets&.include?("the brokers answer again") }
    Process.kill(:INT, pid)
    _, status = Process.wait2(pid)
    pid = nil
    assert_equal 0, status.exitstatus
    assert_nil err.read[/Error/]
  ensure
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
    [out, err].each(&:close)
  end
end
