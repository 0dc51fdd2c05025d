# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class TopicPlanTest < GuildhallTest
  Topics = Guildhall::Kafka::Admin::Topics
  Config = Guildhall::Kafka::Routing::TopicConfig
  Declared = Guildhall::Kafka::Routing::DeclaredTopic

  # The brokers' topics: name => [partitions, replicas, settings].
  class Brokers
    attr_reader :done

    def initialize(topics, refused: {})
      @topics = topics
      @refused = refused
      @done = []
    end

    def find(names)
      names.map do |name|
        count, replicas, = @topics[name]
        error = Guildhall::Kafka::KafkaError.of(count == :refused ? 29 : 3, "topic #{name}") unless count.is_a?(Integer)
        partition = Topics::Partition.new(number: 0, leader: 1, replicas: [1] * replicas.to_i, in_sync: [1])
        Topics::Topic.new(name:, id: "id", internal: false, partitions: error ? [] : [partition] * count, error:)
      end
    end

    def missing?(topic) = topic.error&.code == 3

    def settings(name)
      found = @topics[name].last
      raise found if found.is_a?(Exception)

      found.to_h { |setting, (value, source)| [setting, Topics::Setting.new(name: setting, value:, source:, read_only: false, sensitive: false)] }
    end

    %i[create grow configure].each do |method|
      define_method(method) do |name, **arguments|
        raise @refused[name] if @refused[name]

        @done << [method, name, arguments]
      end
    end
  end

  def plan(brokers, *declared) = Guildhall::Kafka::Admin::TopicPlan.new(brokers, declared)

  def declare(name, source: nil, inherited: false, **config)
    own = config.slice(:partitions, :replicas)
    Declared.new(name:, source:, config: Config.new(**own, settings: config.except(*own.keys).transform_keys(&:to_s), inherited:))
  end

  def test_what_differs
    brokers = Brokers.new({"small" => [2, 1, {"retention.ms" => ["604800000", :default], "segment.ms" => ["5", :topic]}], "large" => [4, 3, {}],
                           "same" => [2, 1, {"cleanup.policy" => ["compact,delete", :topic]}], "extra" => [9, 1, {}]})
    plan = plan(brokers, declare("new", partitions: 3, "retention.ms": 5), declare("new.dead", source: "new", inherited: true),
      declare("small", partitions: 3, replicas: 2, "retention.ms": 1_000, "segment.ms": 5, "acme.thing": 1),
      declare("large", partitions: 2), declare("same", partitions: 2, replicas: 1, "cleanup.policy": %w[delete compact]))
    assert_equal [
      "+ new: partitions 3, retention.ms 5", "+ new.dead: partitions 3",
      "~ small: partitions 2 → 3 (messages with the same key go to other partitions from then on)",
      "! small: replicas 1 → 2 (Kafka changes replicas by reassigning partitions only: kafka-reassign-partitions.sh)",
      "~ small: retention.ms 604800000 (default) → 1000 (messages may be deleted, or lost)", "! small: acme.thing ? → 1 (the brokers have no such setting)",
      "! large: partitions 4 → 2 (Kafka cannot take partitions away: keep more, or produce to a new topic)"
    ], plan.changes.map(&:to_s)
    assert_equal %i[create create change change], plan.possible.map(&:kind)
    assert_predicate plan.changes, :frozen?
    assert_equal({"topic" => "small", "change" => "change", "name" => "retention.ms", "from" => "604800000", "source" => "default", "to" => "1000",
                  "reason" => "messages may be deleted, or lost"}, plan.possible.last.to_json_members)
  end

  # Somebody may have made them larger, or has given them more partitions.
  def test_what_follows_from_another_topic_is_a_minimum
    brokers = Brokers.new({"dead" => [9, 1, {"max.message.bytes" => ["5000", :topic]}]})
    assert_empty plan(brokers, declare("dead", source: "a", inherited: true, "max.message.bytes": 4_000))
    refute_empty plan(brokers, declare("dead", source: "a", inherited: true, "max.message.bytes": 6_000))
  end

  def test_changes_are_made_and_one_that_fails_keeps_none_back
    error = Guildhall::Kafka::KafkaError.of(42, "no")
    brokers = Brokers.new({"small" => [2, 1, {"segment.ms" => ["5", :topic]}]}, refused: {"bad" => error})
    plan = plan(brokers, declare("bad"), declare("new", partitions: 3, replicas: 2, "segment.ms": 5), declare("small", partitions: 3, replicas: 9, "segment.ms": 6))
    seen = []
    refute(plan.apply { |change, problem| seen << [change.topic, problem] })
    assert_equal [["bad", error], ["new", nil], ["small", nil], ["small", nil]], seen
    assert_equal [[:create, "new", {partitions: 3, replicas: 2, config: {"segment.ms" => 5}}], [:grow, "small", {partitions: 3}],
                  [:configure, "small", {set: {"segment.ms" => "6"}}]], brokers.done
    assert plan(Brokers.new({})).apply
  end

  def test_what_may_not_be_asked_for
    refused = Guildhall::Kafka::KafkaError.of(29, "its settings")
    brokers = Brokers.new({"secret" => [:refused], "closed" => [1, 1, refused]})
    changes = plan(brokers, declare("secret", partitions: 1), declare("closed", partitions: 1, "segment.ms": 1)).changes
    assert_equal %i[impossible impossible], changes.map(&:kind)
    assert_match(/\A! secret \(TOPIC_AUTHORIZATION_FAILED: topic secret; grant the user/, changes.first.to_s)
    assert_match(/\A! closed: settings \(TOPIC_AUTHORIZATION_FAILED: its settings; grant/, changes.last.to_s)
    unreachable = Brokers.new({"a" => [1, 1, Guildhall::Kafka::UnreachableError.at({}, -195, "x")]})
    assert_raises(Guildhall::Kafka::UnreachableError) { plan(unreachable, declare("a", "segment.ms": 1)) }
  end
end
