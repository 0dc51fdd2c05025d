# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"

# What real brokers answer is proved by the scenario admin_groups.
class KafkaAdminGroupsTest < GuildhallTest
  Admin = Guildhall::Kafka::Admin

  # Connections that answer with the gem's reports.
  class Answering
    Report = Struct.new(:groups, :errors)

    attr_reader :asked

    def initialize(groups, errors: [], refusals: {})
      @groups = groups
      @errors = errors
      @refusals = refusals
      @asked = []
    end

    def servers = "kafka:9092"
    def request(_what) = yield(self)
    def list_consumer_groups = Report.new(@groups.map { |group| group.slice(:group_id, :state_name) }, @errors)

    def describe_consumer_groups(names)
      @asked << names
      Report.new(names.map { |name| @groups.find { |group| group[:group_id] == name } || KafkaAdminGroupsTest.group(name, "Dead") }, [])
    end

    def delete_group(name)
      raise @refusals[name] if @refusals[name]

      @asked << [:delete, name]
    end
  end

  def self.group(name, state, *members, type: "Classic", error: nil)
    {group_id: name, state_name: state, type_name: type, partition_assignor: "", coordinator: {id: 1, host: "kafka", port: 9092, rack: nil}, members:, error:}
  end

  def self.member(client, host, instance = nil, assignment: {"orders" => [1, 0]})
    {member_id: "#{client}-1", client_id: client, host: "/#{host}", group_instance_id: instance, assignment:, target_assignment: nil}
  end

  def groups(*groups, **) = Admin::Groups.new(@answering = Answering.new(groups, **), nil)
  def group(...) = self.class.group(...)
  def member(...) = self.class.member(...)

  def test_a_group_with_its_members
    found = groups(group("shop", "Stable", member("b", "10.0.0.8"), member("a", "10.0.0.7", "a-1")))["shop"]
    assert_equal ["shop", :stable, :classic, nil, "kafka:9092 (broker 1)"], [found.name, found.state, found.protocol, found.assignor, found.coordinator.to_s]
    assert_equal ["a at 10.0.0.7 (static member a-1)", "b at 10.0.0.8"], found.members.map(&:to_s)
    assert_equal [{"orders" => [0, 1]}, 2], [found.members.first.partitions, found.members.first.partition_count]
    assert_equal :reconciling, groups(group("shop", "Unknown", type: "Consumer"))["shop"].state
  end

  def test_a_group_that_is_not_there
    error = assert_raises(Guildhall::Kafka::UnknownGroupError) { groups(group("orders", "Empty"))["order"] }
    assert_equal "there is no consumer group order; did you mean orders?", error.message
    assert_kind_of Guildhall::ArgumentError, error
  end

  def test_a_list_asks_for_some_at_a_time_and_names_what_was_not_answered
    refusal = Rdkafka::RdkafkaError.new(30)
    many = Array.new(250) { |i| group(format("g%03d", i), "Empty", error: (refusal if i == 7)) }
    answer = groups(*many, errors: [Rdkafka::RdkafkaError.new(-195)]).list
    assert_equal [249, [100, 100, 50]], [answer.size, @answering.asked.map(&:size)]
    refute_predicate answer, :complete?
    assert_match(/\Agroup g007: GROUP_AUTHORIZATION_FAILED: /, answer.problems.first.to_s)
    assert_match(/\A_TRANSPORT: the consumer groups of one broker/, answer.problems.last.to_s)
    assert_raises(Guildhall::Kafka::KafkaError) { groups(*many, errors: [Rdkafka::RdkafkaError.new(-195)]).names }
  end

  def test_nothing_is_deleted_where_one_has_members_or_is_not_there
    all = [group("a", "Empty"), group("b", "Stable", member("shop", "10.0.0.7"), member("shop", "10.0.0.7"), member("x", "h", "x-1"))]
    error = assert_raises(Guildhall::Kafka::LiveGroupError) { groups(*all).delete("a", "b") }
    assert_equal "group b has 3 members (shop at 10.0.0.7 (2 times), x at h (static member x-1); a static member that has gone counts until its " \
                 "session.timeout.ms has passed) and cannot be deleted: stop its members first", error.message
    assert_equal 3, error.members.size
    assert_raises(Guildhall::Kafka::UnknownGroupError) { groups(*all).delete("a", "c") }
    assert_empty @answering.asked.grep(->(one) { one.first == :delete })
    deleted = []
    groups(*all).delete("a") { |name| deleted << name }
    assert_equal ["a"], deleted
  end

  def test_a_member_that_joins_while_groups_are_deleted
    deleted = []
    all = [group("a", "Empty"), group("b", "Empty")]
    error = assert_raises(Guildhall::Kafka::LiveGroupError) do
      groups(*all, refusals: {"b" => Guildhall::Kafka::KafkaError.of(68)}).delete("a", "b") { |name| deleted << name }
    end
    assert_equal [["a"], "group b has got a member just now and cannot be deleted: stop its members first"], [deleted, error.message]
  end

  def test_what_is_printed_of_it_has_no_settings
    connections = Guildhall::Kafka::Admin.new({"bootstrap.servers": "kafka:9092", "sasl.password": "secret"})
    [connections, connections.groups, connections.offsets].each { |one| refute_includes one.inspect, "secret" }
  end
end
