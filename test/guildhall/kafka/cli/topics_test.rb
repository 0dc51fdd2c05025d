# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tempfile"
require "guildhall/cli"
require "guildhall/kafka"
require "guildhall/kafka/cli"
require "guildhall/kafka/testing"

# What needs no answer of a real broker: test/integration/scenarios/admin_topics.rb has the rest.
class KafkaTopicsCommandsTest < GuildhallTest
  def teardown = Guildhall::Kafka.reset

  def test_wrong_usage
    {
      %w[topics lst] => "no command topics lst; did you mean list?",
      %w[topics show] => "which topic? Name one, or several (guildhall topics show --help)",
      %w[topics create a -c x] => "a setting is NAME=VALUE, such as retention.ms=86400000, not \"x\" (guildhall topics create --help)",
      ["topics", "create", "a", "b c", "-b", "x:1"] => '"b c" is no name of a topic: letters, digits, dots, underscores and hyphens, 249 at most (guildhall topics create --help)',
      %w[topics config a set] => "set what? (guildhall topics config --help)",
      %w[topics config a retention.ms=1] => "to change a setting: guildhall topics config NAME set retention.ms=1",
      %w[topics config a set retention.m=1] => "settings have no \"retention.m\"; did you mean retention.ms? (guildhall topics config --help)",
      %w[topics config a set retention.ms=7d] => 'settings must have an Integer for "retention.ms", not "7d" (guildhall topics config --help)',
      %w[topics list --jso] => nil,
      %w[topics list --bogus] => "invalid option: --bogus (guildhall topics list --help)",
      %w[topics grow a -b x:1] => "how many partitions? --partitions N (guildhall topics grow --help)",
      %w[topics trim a -b x:1] => "before what? --before OFFSET|TIME|end (guildhall topics trim --help)",
      %w[topics trim a --before soon -b x:1] => "--before takes end, an offset, #{Guildhall::Kafka::CLI::Moment::EXPLAINED}, not \"soon\"",
      %w[topics plan -b x:1] => "no application: name its file with -r ./app.rb",
      %w[cluster extra] => "unexpected argument: extra (guildhall cluster --help)"
    }.each do |arguments, text|
      _, err, status = guildhall(*arguments)
      assert_equal [arguments, 2], [arguments, status], err
      assert err.start_with?("guildhall: #{text}"), err
    end
  end

  def test_help_says_what_the_exit_status_means
    %w[list show create grow config trim delete plan apply].each do |command|
      out, _, status = guildhall("topics", command, "--help")
      assert_equal [0, true], [status, out.start_with?("usage: guildhall topics #{command} ")], out
      assert_includes out, Guildhall::Kafka::CLI::ApplicationCommand::STATUSES
      assert(out.lines.all? { |line| line.chomp.size <= 140 }, out)
    end
  end

  def test_a_topic_that_is_not_there
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      %w[orders payments].each { |name| broker.create_topic(name) }
      servers = ["-b", broker.bootstrap_servers.to_s]
      {%w[show order] => 2, %w[config order] => 2, %w[delete order -y] => 2, %w[grow order -p 2 -y] => 2, %w[trim order --before end] => 2}.each do |arguments, expected|
        assert_equal ["", "guildhall: there is no topic order; did you mean orders?\n", expected], guildhall("topics", *arguments, *servers)
      end
    end
  end

  def test_if_one_of_the_topics_to_be_deleted_is_missing_none_is_deleted_and_each_missing_one_is_named
    cluster = topics("orders", "payments")
    assert_equal ["", "guildhall: there is no topic order; did you mean orders?\nguildhall: there is no topic nowhere\n" \
                      "guildhall: nothing was deleted; --if-there deletes the others\n", 2], delete(cluster, "order", "payments", "nowhere")
    assert_empty cluster.deleted
    assert_equal ["payments is deleted\n", "", 0], delete(cluster, "order", "payments", "nowhere", "--if-there")
    assert_equal ["nothing to delete\n", "", 0], delete(cluster, "order", "--if-there")
    assert_equal %w[payments], cluster.deleted
  end

  def test_ctrl_c_amid_deletions_says_what_became_of_each_topic
    cluster = topics("a", "b", "c", "d") do |name|
      raise Guildhall::Kafka::KafkaError.of(29) if name == "a"
      raise Interrupt if name == "c"
    end
    out, err = Array.new(2) { StringIO.new }
    assert_raises(Interrupt) { command(cluster, out, err).run(%w[a b c d --yes]) }
    assert_equal "b is deleted\n", out.string
    refused, interrupted = err.string.lines(chomp: true)
    assert_match(/\Aguildhall: TOPIC_AUTHORIZATION_FAILED/, refused)
    assert_equal "c may have been deleted; these were not: d", interrupted
  end

  def test_without_a_broker
    out, err, status = guildhall("topics", "show", "orders", "-b", "127.0.0.1:1")
    assert_equal ["", 1], [out, status]
    assert_match(/\Aguildhall: Kafka at 127\.0\.0\.1:1 does not answer \(.+\): broker 127.* refused; check that a broker listens at bootstrap\.servers.*\n\z/, err)
  end

  def test_a_wrong_configuration
    Tempfile.create(["app", ".rb"]) do |file|
      file.write('Guildhall::Kafka.routes { topic("orders") { config retention_ms: 5 } }; Guildhall::Kafka.config.logger = nil')
      file.close
      _, err, status = guildhall("topics", "plan", "-r", file.path, "-b", "127.0.0.1:1")
      assert_equal 78, status
      assert_includes err, 'topic "orders": config settings have no "retention_ms"; did you mean retention.ms?'
    end
  end

  private

  # Stands for a cluster. The embedded broker deletes no topics.
  # @yieldparam name [String] of one before it is deleted
  def topics(*there, &before)
    deleted = []
    Class.new do
      define_method(:topics) { self }
      define_method(:deleted) { deleted }
      define_method(:[]) do |name|
        raise Guildhall::Kafka::UnknownTopicError.new(name, there) unless there.include?(name)

        Guildhall::Kafka::Admin::Topics::Topic.new(name:, id: "i", internal: false, partitions: [])
      end
      define_method(:delete) do |name|
        before&.call(name)
        deleted << name
      end
    end.new
  end

  def command(cluster, out, err)
    Guildhall::CLI.new.commands.find { |one| one.command_name == "topics" }::Delete.new(out:, err:, cli: nil).tap do |command|
      command.define_singleton_method(:load_application) { nil }
      command.define_singleton_method(:watch_brokers) { nil }
      command.define_singleton_method(:admin) { |&block| block.call(cluster) }
    end
  end

  def delete(cluster, *arguments)
    out, err = Array.new(2) { StringIO.new }
    status = command(cluster, out, err).run([*arguments, "--yes"])
    [out.string, err.string, status || 0]
  end

  # @return [Array(String, String, Integer)] both outputs, and the exit status
  def guildhall(*arguments)
    Guildhall::Kafka.reset
    Guildhall::Kafka.config.logger = nil
    out = StringIO.new
    err = StringIO.new
    status = Guildhall::CLI.new(out:, err:).run(arguments)
    [out.string, err.string, status]
  end
end
