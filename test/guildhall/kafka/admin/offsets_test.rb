# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "support/mock_faults"

# On the embedded broker, which cannot say who is a member. The scenario admin_groups is about real ones.
class KafkaAdminOffsetsTest < GuildhallTest
  DoneRanges = Guildhall::Kafka::Partition::DoneRanges

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("orders", partitions: 2)
    @broker.create_topic("prices")
    @settings = {"bootstrap.servers": @broker.bootstrap_servers}
    @admin = Guildhall::Kafka::Admin.new(@settings)
  end

  def teardown
    @admin.close
    @broker.stop
  end

  def offsets = @admin.offsets

  def produce(*messages)
    producer = Guildhall::Kafka::Producer.new(@settings)
    producer.produce_many_sync(messages)
  ensure
    producer.close
  end

  def ten = produce(*Array.new(10) { |i| {topic: "orders", partition: 0, payload: i.to_s, key: "k#{i % 3}"} })

  # As a member of ours.
  def commit(group, topic, partition, offset, metadata = nil)
    Guildhall::Kafka::Broker::AdminClient.open(@settings) do |admin|
      list = Rdkafka::Consumer::TopicPartitionList.new(topic => [Rdkafka::Consumer::Partition.new(partition, offset, 0, metadata)])
      admin.request("x") { |client| client.alter_consumer_group_offsets(group, list) }
    end
  end

  def committed(group) = offsets.of(group).map { |row| [row.partition, row.committed] }

  def test_what_a_group_has_committed
    ten
    commit("g", "orders", 0, 3, DoneRanges.dump(3, [4...6, 8...9], "mine"))
    first, second = offsets.of("g")
    assert_equal ["g", "orders", 0, 3, 0, 10, 7, "mine", [4...6, 8...9]],
      first.to_h.values_at(:group, :topic, :partition, :committed, :begin_offset, :end_offset, :messages, :metadata, :done)
    assert_equal [3...4, 6...8], first.passed_over
    assert_equal [1, nil, 0, nil, []], [second.partition, second.committed, second.messages, second.metadata, second.passed_over]
    assert_equal [["k0", 2], ["k1", 1]], offsets.parked_keys("g").map { |row| [row.key, row.messages] }, "3 and 6, 7"
    assert_equal [1], offsets.of("g", partitions: [1]).map(&:partition)
    assert_equal ["prices"], offsets.of("g", topics: ["prices"]).map(&:topic)
    assert_empty offsets.of("other")
    error = assert_raises(Guildhall::Kafka::UnknownTopicError) { offsets.of("g", topics: ["order"]) }
    assert_equal "there is no topic order; did you mean orders?", error.message
  end

  def test_a_plan_counts_what_is_skipped_and_what_comes_again
    ten
    commit("g", "orders", 0, 3, DoneRanges.dump(3, [4...6, 8...9]))
    # 0..2, 4, 5 and 8 are done; 3, 6, 7 and 9 are left
    {0 => [0, 6], 3 => [0, 3], 4 => [1, 3], 7 => [2, 1], 10 => [4, 0]}.each do |to, figures|
      plan = offsets.plan("g", to:)
      assert_equal [figures, to, [0, 1]], [[plan.skipped, plan.again], plan.steps.first.to, plan.steps.map(&:partition)]
    end
    assert_equal [[], [["k0", 2], ["k1", 1]]], parked(offsets.plan("g", to: :earliest))
    assert_equal [[["k0", 2]], [["k1", 1]]], parked(offsets.plan("g", to: 7))
    assert_equal [[["k0", 2], ["k1", 1]], []], parked(offsets.plan("g", to: :latest))
  end

  def parked(plan) = [plan.parked_skipped, plan.parked_again].map { |rows| rows.map { |row| [row.key, row.messages] } }

  def test_a_plan_is_frozen_and_changes_nothing_until_it_is_applied
    ten
    commit("g", "orders", 0, 3, DoneRanges.dump(3, [4...6], "mine"))
    plan = offsets.plan("g", to: 5, topics: ["orders"])
    assert_predicate plan, :frozen?
    assert_equal [[0, 3], [1, nil]], committed("g")
    assert_same plan, plan.apply
    row = offsets.of("g").first
    assert_equal [5, nil, []], [row.committed, row.metadata, row.done]
    assert_match(/ of group g: 2 changes, 1 skipped, 1 again>\z/, plan.inspect)
    assert_equal 0, offsets.plan("g", to: 5, partitions: [0]).changes.size
  end

  def test_each_kind_of_place
    ten
    commit("g", "orders", 0, 4)
    {{to: :earliest} => 0, {to: :latest} => 10, {to: 7} => 7, {to: -3} => 1, {shift: 3} => 7, {shift: -3} => 1}.each do |where, place|
      step = offsets.plan("g", **where).steps.first
      assert_equal [place, false], [step.to, step.clamped], where
    end
    {{to: 70} => 10, {to: -30} => 0, {shift: 30} => 10}.each do |where, place|
      step = offsets.plan("g", **where).steps.first
      assert_equal [place, true], [step.to, step.clamped], where
    end
    second = offsets.plan("g", to: -3).steps.last
    assert_equal [nil, nil, false], [second.from, second.to, second.change?], "nothing is committed to count from"
  end

  def test_arguments_that_mean_nothing
    {{to: "earliest"} => /to must be/, {} => /either to: or shift:/, {to: 1, shift: 1} => /either/, {to: 1, topics: "x"} => /topics must be/}.each do |where, text|
      assert_match text, assert_raises(Guildhall::ArgumentError) { offsets.plan("g", **where) }.message
    end
    commit("g", "orders", 0, 0)
    assert_match(/orders: there is no partition 7/, assert_raises(Guildhall::ArgumentError) { offsets.plan("g", to: 1, partitions: [0, 7]) }.message)
  end

  def test_a_group_that_has_committed_nothing_is_taken_for_a_typing_error
    ten
    assert_raises(Guildhall::Kafka::UnknownGroupError) { offsets.plan("new", to: 2, topics: ["orders"]) }
    assert_match(/say which topics/, assert_raises(Guildhall::ArgumentError) { offsets.plan("new", to: 2, create: true) }.message)
    offsets.plan("new", to: 2, topics: ["orders"], create: true).apply
    assert_equal [[0, 2], [1, 0]], committed("new")
  end

  def test_a_plan_that_is_out_of_date
    ten
    commit("g", "orders", 0, 4)
    plan = offsets.plan("g", to: 1)
    commit("g", "orders", 0, 6)
    error = assert_raises(Guildhall::Kafka::OffsetsError) { plan.apply }
    assert_equal "group g has committed other offsets since the plan was made (orders/0): nothing was changed; make a plan anew", error.message
    assert_equal [[0, 6], [1, nil]], committed("g")
  end

  def test_a_partition_that_cannot_be_asked_makes_no_plan_with_a_hole
    ten
    commit("g", "orders", 0, 4)
    MockFaults.new(@broker).leader("orders", 1, -1)
    assert_match(%r{orders/1 has no leader}, assert_raises(Guildhall::Kafka::KafkaError) { offsets.plan("g", to: :latest) }.message)
  end

  def test_a_commit_that_the_coordinator_refuses_changes_nothing
    ten
    commit("g", "orders", 0, 4)
    plan = offsets.plan("g", to: 1)
    faults = MockFaults.new(@broker)
    faults.refuse(MockFaults::OFFSET_COMMIT, 25) # UNKNOWN_MEMBER_ID
    error = assert_raises(Guildhall::Kafka::LiveGroupError) { plan.apply }
    assert_equal "group g has got a member just now and cannot be given other offsets: stop its members first", error.message
    faults.accept(MockFaults::OFFSET_COMMIT)
    faults.refuse(MockFaults::OFFSET_COMMIT, 30)
    assert_match(/grant the user READ/, assert_raises(Guildhall::Kafka::AuthorizationError) { plan.apply }.message)
    assert_equal [[0, 4], [1, nil]], committed("g")
  end

  def test_a_copy_has_metadata_and_what_is_done
    ten
    commit("a", "orders", 0, 3, DoneRanges.dump(3, [4...6], "mine"))
    plan = @admin.groups.copy("a", "b")
    assert_equal [1, 0], [plan.changes.size, plan.steps.first.partition]
    row = offsets.of("b").first
    assert_equal [3, "mine", [4...6]], [row.committed, row.metadata, row.done]
    assert_match(/overwrite: true/, assert_raises(Guildhall::ArgumentError) { @admin.groups.copy("a", "b") }.message)
    commit("a", "orders", 0, 5)
    @admin.groups.copy("a", "b", overwrite: true)
    assert_equal [[0, 5], [1, nil]], committed("b")
    assert_match(/to itself/, assert_raises(Guildhall::ArgumentError) { @admin.groups.copy("a", "a") }.message)
  end

  def test_ranges_without_others
    range = Guildhall::Kafka::Broker::OffsetRange
    assert_equal [0...10], range.without(0...10, [])
    assert_equal [0...2, 4...6, 9...10], range.without(0...10, [2...4, 6...9])
    assert_equal [5...6], range.without(3...6, [0...5])
    assert_equal [3...4], range.without(3...6, [4...8])
    assert_empty range.without(3...6, [0...8])
    assert_empty range.without(6...6, [])
    assert_equal [3...6], range.without(3...6, [0...2, 8...9])
  end
end
