# frozen_string_literal: true

require "json"
require "tmpdir"
require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"

class KafkaReportTest < GuildhallTest
  class Idle < Guildhall::Kafka::Consumer
    def consume; end
  end

  def application(servers = "127.0.0.1:1")
    Guildhall::Kafka::Application.new.tap do |application|
      application.config.kafka = {"bootstrap.servers": servers}
      application.config.logger = nil
      application.routes.draw { topic("orders") { consumer(Idle) && dead_letter_queue(topic: "dead", max_retries: 2) } }
    end
  end

  def test_before_the_start
    report = application.report
    assert_equal [1, "state", "initialized", [], [], ["not_running"]],
      [*report.values_at("v", "kind", "state", "groups", "topics"), report["ready"].map { |one| one["code"] }]
    assert Ractor.shareable?(report)
    assert_equal report, JSON.parse(JSON.generate(report))
  end

  # A kernel takes any bytes for one.
  def test_a_strange_name_of_the_host
    assert_equal "b\u{FFFD}\\u{1B}[2J", Guildhall::Kafka::ProcessName.host("b\xFC\e[2J".b)
    host, name = application.report.values_at("host", "process")
    assert_equal [Guildhall::Kafka::ProcessName.host, "#{host}:#{Process.pid}:0"], [host, name]
  end

  def test_while_it_runs
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      broker.create_topic("orders", partitions: 2)
      application = application(broker.bootstrap_servers)
      application.config.release = "v7"
      application.start
      eventually { application.partitions.size == 2 }
      report = application.report
      assert_equal report, JSON.parse(JSON.generate(report))
      assert_equal ["running", "v7", Process.pid, [], []], report.values_at("state", "release", "pid", "live", "ready")
      assert_equal({"all" => 5, "busy" => 0, "waiting" => 0}, report["runners"])
      member = report["groups"].fetch(0)["members"].fetch(0)
      assert_equal [1, true, 2, 0, 0], member.values_at("number", "answered", "partitions", "lost", "failed_commits")
      assert_operator member["rebalances"], :>=, 1
      assert_equal [application.listeners.first.client.member_id], [member["id"]]
      refute_empty member["id"]
      assert_empty report["commands"]
      topic = report["topics"].fetch(0)
      assert_equal ["orders", "guildhall", "dead", 2, "none"], topic.values_at("topic", "group", "dead_letter_topic", "max_retries", "decoded_by")
      assert_equal [[0, "waiting"], [1, "waiting"]], topic["partitions"].map { |row| row.values_at("partition", "state") }
      assert_operator report["rss"], :>, 10_000_000
      application.quiet
      assert_equal ["quiet", %w[quiet quiet]], [application.report["state"], application.report["topics"][0]["partitions"].map { |row| row["state"] }]
    ensure
      application&.stop
    end
  end

  def test_a_topic_without_a_partition_here_is_there_all_the_same
    application = application()
    application.start
    assert_equal [["orders", []]], application.report["topics"].map { |topic| topic.values_at("topic", "partitions") }
  ensure
    application.stop(timeout: 1)
  end

  def test_the_release_is_that_of_the_environment_where_it_is_not_set
    before = ENV.fetch("RELEASE", nil)
    ENV["RELEASE"] = "abc"
    assert_equal "abc", application.report["release"]
  ensure
    ENV["RELEASE"] = before
  end

  # Where LANG names no encoding, the environment's is none either.
  def test_names_in_any_encoding
    some = application
    some.config.release = "größe".b
    some.config.client_id = "größe".b
    some.config.group_id = "größe".b
    some.start
    report = Guildhall::JSON.decode(Guildhall::JSON.encode(some.report))
    assert_equal ["größe"], [*report.values_at("release", "app"), report["groups"][0]["group"], report["topics"][0]["group"]].uniq
  ensure
    some.stop(timeout: 1)
  end

  def test_which_commands_it_takes
    some = application
    assert_empty some.report["commands"]
    some.config.commands = {insecure: true}
    assert_equal %w[pause resume retry seek quiet trace], some.report["commands"]
    some.config.commands = {insecure: true, allow: %i[stop]}
    assert_equal %w[stop], some.report["commands"]
  end

  def test_memory
    assert_operator Guildhall::Kafka::Reporting::ProcessMemory.resident, :>, 10_000_000
    assert_nil Guildhall::Kafka::Reporting::ProcessMemory.resident(2**22 + 1)
    limit, used = Guildhall::Kafka::Reporting::ProcessMemory.limit_and_used
    assert limit.nil? || limit.positive?
    limit ? assert_operator(used, :>, 0) : assert_nil(used)
  end

  # What the system gives back by itself does not count.
  def test_memory_of_a_control_group
    Dir.mktmpdir do |folder|
      memory = Guildhall::Kafka::Reporting::ProcessMemory.dup
      memory.singleton_class.prepend(Module.new { define_method(:group) { ["#{folder}/memory.max", 500] } })
      {"memory.current" => "400", "memory.stat" => "anon 300\ninactive_file 60\nactive_file 40\n"}.each { |name, text| File.write("#{folder}/#{name}", text) }
      assert_equal [500, 340], memory.limit_and_used
      File.delete("#{folder}/memory.current")
      {"memory.usage_in_bytes" => "450", "memory.stat" => "inactive_file 5\ntotal_inactive_file 50\n"}.each { |name, text| File.write("#{folder}/#{name}", text) }
      assert_equal [500, 400], memory.limit_and_used
    end
  end
end
