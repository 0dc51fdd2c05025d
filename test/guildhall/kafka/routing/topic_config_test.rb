# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

# What routes declare of topics at the brokers.
class TopicConfigTest < GuildhallTest
  Config = Guildhall::Kafka::Routing::TopicConfig
  Settings = Guildhall::Kafka::Routing::TopicSettings
  Declared = Guildhall::Kafka::Routing::DeclaredTopic

  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  def test_what_a_route_declares_is_added_to_the_defaults
    topic = routes { defaults { config replicas: 3, "min.insync.replicas": 2 } and topic("orders") { consumer Handles and config partitions: 6, "retention.ms": 86_400_000 } }.first
    assert_equal Config.new(partitions: 6, replicas: 3, settings: {"min.insync.replicas" => 2, "retention.ms" => 86_400_000}), topic.config
    assert_equal "partitions 6, replicas 3, min.insync.replicas 2, retention.ms 86400000", topic.config.to_s
    assert_equal({"partitions" => 6, "replicas" => 3, "settings" => {"min.insync.replicas" => 2, "retention.ms" => 86_400_000}}, topic.summary["config"])
    assert_includes topic.notes, "config: #{topic.config}"
    assert Ractor.shareable?(topic.config)
  end

  def test_values_that_no_topic_has
    assert_empty Settings.problems({"retention.ms" => "-1", "cleanup.policy" => %w[compact delete], "min.cleanable.dirty.ratio" => 0.2,
                                    "preallocate" => true, "compression.type" => :zstd, "redpanda.remote.write" => true})
    {"retention_ms" => "have no \"retention_ms\"; did you mean retention.ms?", "retention.m" => "have no \"retention.m\"; did you mean retention.ms?",
     "replication" => 'have no "replication": names are such as "retention.ms"'}.each do |name, problem|
      assert_equal [problem], Settings.problems({name => 1})
    end
    {"retention.ms" => "7d", "preallocate" => "yes", "cleanup.policy" => "compact,zip", "compression.type" => "rar", "min.cleanable.dirty.ratio" => 2,
     "acme.thing" => nil}.each do |name, value|
      assert_match(/\Amust have .+ for "#{name}", not #{Regexp.escape(value.inspect)}\z/, Settings.problems({name => value}).join)
    end
  end

  def test_mistakes_in_routes_are_told_together
    error = assert_raises(Guildhall::ConfigurationError) do
      routes do
        topic("a") { consumer Handles and config 6 }
        topic("b") { consumer Handles and config partitions: 0, retention_ms: 1 }
        pattern(/c/) { consumer Handles and config partitions: 1 }
        topic("d") { consumer Handles and config partitions: 1 }
        consumer_group("other") { topic("d") { consumer Handles and config partitions: 2 } }
        topic("e") { max_messages 5 }
      end
    end.message
    ['topic "a": config: takes keywords only: partitions:, replicas:, "retention.ms":', 'topic "b": config partitions must be an Integer ≥ 1, or nil, not 0',
     'topic "b": config settings have no "retention_ms"; did you mean retention.ms?', "config needs a topic, not a pattern",
     'topic "d": its config differs between group guildhall (partitions 1) and group other (partitions 2): keep it in one of their routes',
     'topic "e": needs a consumer'].each { |text| assert_includes error, text }
  end

  def test_values_that_mean_the_same
    assert Settings.same?("cleanup.policy", %w[delete compact], "compact,delete")
    assert Settings.same?("min.cleanable.dirty.ratio", 0.5, "0.50")
    assert Settings.same?("retention.ms", 5, "5")
    refute Settings.same?("retention.ms", 5, "6")
    refute Settings.same?("retention.ms", "x", nil)
  end

  # As safe as the topic, and large enough for its messages; not compacted, nor kept as long.
  def test_what_topics_of_the_framework_get_from_their_source
    topics = routes do
      topic("orders") do
        consumer Handles
        config partitions: 6, replicas: 3, "min.insync.replicas": 2, "max.message.bytes": 2_000_000, "cleanup.policy": "compact", "retention.ms": 1
        retry_topics 5, prefix: "again"
        dead_letter_queue topic: "dead"
      end
      topic("quiet") { consumer Handles and dead_letter_queue(topic: "quiet.dead") }
      topic("plain") { consumer Handles }
      topic("jobs") { consumer Handles and dead_letter_queue_of_its_own }
      topic("only") { config partitions: 2 }
      topic("quiet.dead") { config "retention.ms": -1 }
      delay_topics 1, prefix: "later", config: {replicas: 2}
      schedule(topic: "tasks", config: {"segment.ms": 60_000, partitions: 4}) { task("x", "0 3 * * *") { nil } }
    end
    declared = Declared.all(topics).to_h { |one| [one.name, one] }
    assert_equal %w[again.5 dead jobs.dead later.1 later.dead only orders quiet.dead tasks], declared.keys.sort
    assert_equal %w[again.5 jobs.dead later.1 later.dead tasks], declared.values.select(&:made).map(&:name).sort
    copies = Config.new(replicas: 3, settings: {"min.insync.replicas" => 2, "max.message.bytes" => 2_001_000}, inherited: true)
    assert_equal [copies, copies], declared.values_at("again.5", "dead").map(&:config)
    assert_equal copies.with(partitions: 6), declared["again.5"].creation({"orders" => 6})
    assert_nil declared["again.5"].creation({}).partitions
    assert_equal({"retention.ms" => -1}, declared["quiet.dead"].config.settings)
    assert_equal [2, nil, 2], [declared["later.dead"].config.replicas, declared["later.dead"].creation({}).partitions, declared["later.1"].config.replicas]
    assert_equal Config.new(settings: {"segment.ms" => 60_000, "cleanup.policy" => "compact"}), declared["tasks"].config
    assert_equal Config.new(partitions: 1, settings: {"segment.ms" => 60_000, "min.cleanable.dirty.ratio" => 0.1, "cleanup.policy" => "compact"}),
      declared["tasks"].creation({})
    assert copies.met?("max.message.bytes", "3000000")
    refute copies.with(inherited: false).met?("max.message.bytes", "3000000")
  end

  private

  def routes(&)
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    application.routes.draw(&)
    application.validate!
  end
end
