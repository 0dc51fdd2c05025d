# frozen_string_literal: true

require "test_helper"
require "json"
require "tempfile"

# The commands for Kafka, each in a process of its own: an application is the process's.
class KafkaCLITest < GuildhallTest
  APPLICATION = <<~'RUBY'
    class Handles < Guildhall::Kafka::Consumer
      def consume; end
    end
    Guildhall::Kafka.configure do |config|
      config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
      config.shutdown_timeout = 5
    end
    Guildhall::Kafka.routes do
      topic("orders") { consumer Handles }
      consumer_group("others") { pattern(/\Ax-/) { consumer Handles } }
    end
  RUBY

  def test_routes_are_printed
    out, _, status = guildhall("routes")
    assert_equal 0, status
    assert_match(%r{^guildhall +orders +Handles\nothers +/\\Ax-/ +Handles$}, out)
  end

  def test_routes_as_json
    out, = guildhall("routes", "--json")
    assert_equal [["guildhall", "orders", false, "Handles"], ["others", "/\\Ax-/", true, "Handles"]],
      out.lines.map { |line| ::JSON.parse(line).values_at("group", "topic", "pattern", "consumer") }
  end

  def test_wrong_routes_are_errors
    out, err, status = guildhall("routes", application: "#{APPLICATION}\nGuildhall::Kafka.config.concurency = 3")
    assert_equal ["", 1], [out, status]
    assert_includes err, "unknown setting concurency; did you mean concurrency?"
  end

  def test_names_that_are_not_routed_are_wrong_usage
    [%w[server --topics order], %w[server --groups other], %w[lag --groups other]].each do |arguments|
      _, err, status = guildhall(*arguments)
      assert_equal 2, status, err
      assert_match(/not routed: .*did you mean (orders|others)\?/, err)
    end
  end

  def test_lag_says_who_has_not_answered
    out, err, status = guildhall("lag")
    assert_equal ["", 1], [out, status]
    assert_match(/^guildhall: Kafka at 127.0.0.1:1 does not answer \(.*\): check that a broker listens there, and bootstrap.servers$/, err)
    assert_operator err.lines.size, :<=, 3, err
  end

  def test_parked_keys_are_those_of_topics_that_are_ordered_by_key
    out, _, status = guildhall("keys")
    assert_equal ["GROUP  TOPIC  PARTITION  KEY  OFFSET  MESSAGES  SECONDS\n", 0], [out, status], "without such a topic no broker is asked"
    _, err, status = guildhall("keys", application: APPLICATION.sub("consumer Handles }", "consumer Handles; ordering :key }"))
    assert_equal 1, status
    assert_match(/does not answer/, err)
  end

  private

  def guildhall(command, *options, application: APPLICATION)
    Tempfile.create(["application", ".rb"]) do |file|
      file.write(application)
      file.close
      out, err, status = run_command([RbConfig.ruby, "exe/guildhall", command, "-r", file.path, *options])
      [out, err, status.exitstatus]
    end
  end
end
