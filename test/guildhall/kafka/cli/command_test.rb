# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/kafka/commanding/commander"

# `guildhall command`, each in a process of its own, without a process that takes commands: the scenario `commands` is about those.
class KafkaCommandCommandTest < GuildhallTest
  COMMAND = File.expand_path("../../../../exe/guildhall", __dir__)
  Commanding = Guildhall::Kafka::Commanding

  def guildhall(*arguments, key: nil)
    out, err, status = run_forked(%w[guildhall/cli guildhall/kafka], COMMAND, "command", *arguments,
      env: {"GUILDHALL_PROFILES" => "/nowhere", "GUILDHALL_COMMANDS_PRIVATE_KEY" => key})
    [out, err, status.exitstatus]
  end

  def test_a_pair_of_keys
    out, err, status = guildhall("keys")
    assert_equal ["", 0], [err, status]
    public_key, private_key = out.scan(/^GUILDHALL_COMMANDS_(?:PRIVATE_)?KEY=(\S+)$/).flatten
    assert Commanding::Keys.signed?(Commanding::Keys.public(public_key), "x", Commanding::Keys.sign(Commanding::Keys.private(private_key), "x"))
  end

  def test_each_has_help
    %w[pause resume retry seek quiet stop trace].each do |action|
      out, = guildhall(action, "--help")
      assert_match(/\Ausage: guildhall command #{action} \S+ \[options\]$/, out)
      assert_includes out, "Exit status: 0 done; 1 refused"
    end
  end

  def test_mistakes
    private_key, public_key = Commanding::Keys.generate
    brokers = %w[--brokers 127.0.0.1:1 --group g --why x]
    {%w[pause orders/1] => [2, /say why, with --why TEXT/], %w[quiet --why x] => [2, /needs a target: PROCESS/], %w[paus] => [2, /did you mean pause/],
     ["pause", "orders/1", *brokers] => [2, /a pause has an end: --for 90s, 30m or 2h/], ["pause", "orders/1", "--for", "48h", *brokers] => [2, /from 1 to 86400/],
     ["retry", "a/b/c", *brokers] => [2, %r{such as orders/3, not a/b/c}], ["seek", "orders", "--to", "1", *brokers] => [2, /seek is for one partition/],
     ["seek", "orders/1", *brokers] => [2, /seek needs --to PLACE/], ["seek", "orders/1", "--to", "soon", *brokers] => [2, /--to takes/],
     %w[retry orders/1 --why x --brokers 127.0.0.1:1] => [2, /which consumer group\? --group NAME/]}.each do |arguments, (expected, message)|
      out, err, status = guildhall(*arguments, key: private_key)
      assert_equal ["", expected], [out, status], "#{arguments}: #{err}"
      assert_match message, err
    end
    {nil => /GUILDHALL_COMMANDS_PRIVATE_KEY of the environment is missing: guildhall command keys/, public_key => /is the public key/}.each do |key, message|
      _, err, status = guildhall("retry", "orders/1", *brokers, key:)
      assert_equal 78, status, err
      assert_match message, err
    end
  end

  def test_a_topic_without_a_route
    Dir.mktmpdir do |directory|
      File.write(application = File.join(directory, "app.rb"), <<~RUBY)
        Guildhall::Kafka.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        Guildhall::Kafka.config.group_id = "shop"
        Guildhall::Kafka.routes { topic("orders") { consumer(Class.new(Guildhall::Kafka::Consumer) { def consume = nil }) } }
      RUBY
      _, err, status = guildhall("retry", "ordres/1", "--why", "x", "-r", application, key: Commanding::Keys.generate.first)
      assert_equal 2, status, err
      assert_match(/no route consumes ordres/, err)
    end
  end

  def test_nobody_answers
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      broker.create_topic(Commanding::TOPIC)
      out, err, status = guildhall("retry", "orders", "--brokers", broker.bootstrap_servers.to_s, "--group", "g", "--why", "x", "--by", "ada", "--insecure", "--wait", "0.5")
      assert_equal ["", 1], [out, status], err
      assert_match(/no process has answered/, err)
      sent = Commanding::Commander.new({"bootstrap.servers": broker.bootstrap_servers}, private_key: nil).sent
      assert_equal [[:retry, {group: "g", topic: "orders"}, "ada", "x", nil]], sent.map { |one| [one.command.action, one.command.target, one.command.by, one.command.why, one.signed] }
    end
  end
end
