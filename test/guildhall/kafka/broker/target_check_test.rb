# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

# Topics that messages are sent on to are looked at when an application starts; dead_letters_blocked.rb asks a broker.
class KafkaTargetCheckTest < GuildhallTest
  Handle = Struct.new(:report) do
    def wait(**) = report.is_a?(Exception) ? raise(report) : report
  end
  Topics = Struct.new(:topics)
  Resources = Struct.new(:resources)
  Resource = Struct.new(:configs)
  Setting = Struct.new(:name, :value)
  ALL = [3, 4, 8].freeze # READ, WRITE, DESCRIBE
  NOT_AUTHORIZED = 29
  UNKNOWN_TOPIC = 3

  # Answers what the test says.
  class Admin
    attr_reader :closed

    # @param topics [Hash{String=>Hash}] operations:, error:, bytes:
    def initialize(topics, auto_create)
      @topics = topics
      @auto_create = auto_create
    end

    def describe_topics(names, **)
      Handle.new(Topics.new(names.map do |name|
        known = @topics.fetch(name, {error: UNKNOWN_TOPIC})
        {name:, authorized_operations: known.fetch(:operations, ALL), partitions: known[:error] ? [] : [{leader: {id: 7}}],
         error: known[:error] && Rdkafka::RdkafkaError.new(known[:error])}
      end))
    end

    def describe_configs(resources)
      name = resources.first.fetch(:resource_name)
      value = name == "7" ? ["auto.create.topics.enable", @auto_create] : ["max.message.bytes", @topics.dig(name, :bytes)]
      return Handle.new(Rdkafka::RdkafkaError.new(NOT_AUTHORIZED)) if value.last.nil?

      Handle.new(Resources.new([Resource.new([Setting.new("other", "1"), Setting.new(*value)])]))
    end

    def broker_id(_timeout_ms) = 7
    def close = @closed = true
  end

  def problems(topics, auto_create: "false", **options, &route)
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    consumer = Class.new(Guildhall::Kafka::Consumer) { def consume = nil }
    application.routes.draw do
      topic "orders" do
        consumer consumer
        route ? instance_eval(&route) : dead_letter_queue(topic: "orders.dead")
      end
    end
    admin = options[:admin] || Admin.new({"orders" => {}, **topics}, auto_create)
    check = Guildhall::Kafka::Broker::TargetCheck.new(application.validate!, application.config) { true }
    check.define_singleton_method(:connect) { admin }
    found = {}
    check.run { |name, _group, problem| found[name] = problem }
    assert admin.closed
    found
  end

  def test_nothing_is_said_of_a_topic_that_is_as_it_should_be
    assert_empty problems({"orders.dead" => {bytes: "1048588"}, "orders" => {bytes: "1048588"}})
    assert_empty problems({"orders.dead" => {}}), "the brokers do not tell the sizes"
    assert_empty problems({"orders.dead" => {operations: nil}})
  end

  def test_a_topic_that_is_missing
    assert_equal({"orders.dead" => "topic orders.dead does not exist: create it, the brokers create none (auto.create.topics.enable)"}, problems({}))
    assert_equal({"orders.dead" => "topic orders.dead does not exist: create it (or let the brokers: auto.create.topics.enable is not known)"}, problems({}, auto_create: nil))
    assert_empty problems({}, auto_create: "true")
    assert_empty problems({"orders" => {error: UNKNOWN_TOPIC}}, auto_create: "true"), "there is no topic yet whose leader could be asked"
  end

  def test_a_topic_that_may_not_be_written_to
    assert_match(/may not be written to: grant WRITE on it/, problems({"orders.dead" => {operations: [8]}})["orders.dead"])
    assert_match(/grant DESCRIBE and WRITE on it/, problems({"orders.dead" => {error: NOT_AUTHORIZED}})["orders.dead"])
  end

  def test_a_topic_that_takes_only_smaller_messages
    assert_equal({"orders.dead" => "topic orders.dead takes messages of 1000 bytes at most (max.message.bytes), messages of orders may have 5000 bytes: " \
                                   "larger ones would block their partition; set it to 6000"},
      problems({"orders.dead" => {bytes: "1000"}, "orders" => {bytes: "5000"}}))
  end

  def test_retry_topics_are_looked_at_and_may_be_missing
    route = proc do
      dead_letter_queue topic: "orders.dead"
      retry_topics 5, 30, prefix: "orders.retry"
    end
    assert_empty problems({"orders.dead" => {}}, &route)
    assert_equal %w[orders.retry.30], problems({"orders.dead" => {}, "orders.retry.5" => {}, "orders.retry.30" => {operations: [8]}}, &route).keys
  end

  def test_brokers_that_do_not_answer_hold_up_nothing
    silent = Admin.new({}, nil)
    silent.define_singleton_method(:describe_topics) { |*, **| Handle.new(Rdkafka::AbstractHandle::WaitTimeoutError.new("late")) }
    assert_empty problems({}, admin: silent)
  end

  def test_a_route_that_sends_nothing_on_asks_nothing
    application = Guildhall::Kafka::Application.new
    check = Guildhall::Kafka::Broker::TargetCheck.new([], application.config) { false }
    check.define_singleton_method(:connect) { raise "asked" }
    check.run { flunk }
  end
end
