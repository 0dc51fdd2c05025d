# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "json"

# What follows from the table of a route's settings.
class KafkaRoutingTopicTest < GuildhallTest
  Routing = Guildhall::Kafka::Routing

  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  def route(&block)
    errors = Guildhall::Kafka::Config::Problems.new
    builder = Routing::TopicBuilder.new("t", "g", errors)
    builder.apply(proc { consumer Handles })
    builder.apply(block) if block
    [builder.build, errors.to_a]
  end

  def test_each_setting_has_a_method_and_a_member_and_its_default_is_valid
    topic, errors = route
    assert_empty errors
    Routing::Topic.settings.each do |setting|
      assert_includes Routing::TopicBuilder.callable_names, setting.written ? setting.written.first.to_s[/\w+/].to_sym : setting.name
      setting.name == :consumer || setting.default.nil? ? assert_respond_to(topic, setting.name) : assert_equal(setting.default, topic.public_send(setting.name))
      assert_empty setting.problems(setting.default), setting.name
    end
    Guildhall::Kafka::Filtering::BUILT_IN.each { |filter| assert_includes Routing::TopicBuilder.callable_names, filter.name }
  end

  def test_flags_need_no_argument
    flags = Routing::Topic.settings.select { |setting| setting.rule == Guildhall::Kafka::Settings::Rules::BOOLEAN }.map(&:name)
    assert_includes flags, :transactional
    assert_equal flags, Routing::Topic.settings.select { |setting| setting.default == false }.map(&:name)
    assert_empty(route { transactional && manual_offset_management }.last)
    flags.each do |flag|
      said, denied = [[], [false]].map { |arguments| route { public_send(flag, *arguments) }.first.public_send(flag) }
      assert_equal [true, false, false], [said, denied, route.first.public_send(flag)], flag
    end
  end

  def test_keywords_that_are_not_given_have_their_defaults
    topic, errors = route { retries pause_timeout: 2, transient: IOError }
    assert_empty errors
    assert_equal [2, nil, [IOError], 10], [topic.retries.pause_timeout, topic.retries.pause_max_timeout, topic.retries.transient, topic.retries.contention_limit]
  end

  def test_everything_is_in_the_json_but_what_is_secret
    topic, errors = route do
      deserializers payload: Guildhall::JSON, key: ->(bytes) { bytes }
      retries pause_timeout: 2, transient: IOError
      dead_letter_queue topic: "dead"
      retry_topics 5, 30
      throttle limit: 3, per: 1
      virtual_partitions partitioner: :key.to_proc
      kafka("sasl.password": "hunter2", "fetch.wait.max.ms": 5)
    end
    assert_empty errors
    json = JSON.generate(topic.summary)
    refute_includes json, "hunter2"
    summary = JSON.parse(json)
    {"consumer" => "KafkaRoutingTopicTest::Handles", "deserializer" => "Guildhall::JSON", "key_deserializer" => "Proc", "parallel" => nil,
     "dead_letter_topic" => "dead", "virtual_partitions" => true, "ordering" => "partition", "filters" => ["throttle"],
     "retry_topics" => {"delays" => [5, 30], "prefix" => "t.g.retry"}, "delivery" => "at_least_once", "kafka" => %w[sasl.password fetch.wait.max.ms],
     "retries" => {"pause_timeout" => 2, "pause_max_timeout" => nil, "non_retryable" => [], "transient" => ["IOError"], "contention_limit" => 10},
     "members" => [1, 1]}.each { |name, value| value.nil? ? assert_nil(summary.fetch(name)) : assert_equal(value, summary[name], name) }
  end

  def test_a_topic_that_nothing_consumes_is_of_no_group
    declared = Routing::TopicBuilder.new("t", "g", Guildhall::Kafka::Config::Problems.new).tap { |builder| builder.apply(proc { config partitions: 2 }) }.build
    assert_equal [nil, "g"], [declared, route.first].map { |topic| topic.summary.fetch("group") }
  end

  def test_the_table_has_a_row_for_each_part
    table = Routing::Topic.settings.to_markdown
    ["| `max_messages` | nil |", "| `retries pause_timeout:` | nil |", "| `deserializing lazy:` | nil |", "| `ordering BY` | nil |",
     "| `retry_topics SECONDS…` | nil |", "| `retries contention_limit:` | 10 |", "| `retries` |  |"].each { |row| assert_includes table, row }
  end
end
