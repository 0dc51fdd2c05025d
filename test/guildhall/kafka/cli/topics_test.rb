# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tempfile"
require "guildhall/cli"
require "guildhall/kafka"
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
