# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "support/mock_faults"
require "support/refusing_broker"

# One client that asks the cluster: what has an error affects no other answer.
class KafkaBrokerSessionTest < GuildhallTest
  Session = Guildhall::Kafka::Broker::Session

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("orders", partitions: 2)
    @broker.create_topic("others", partitions: 1)
    @faults = MockFaults.new(@broker)
    @settings = {"bootstrap.servers": @broker.bootstrap_servers, "group.id": "g"}
  end

  def teardown = @broker.stop

  def session(settings = @settings, **, &) = Session.open(settings, **, &)

  def produce(count, topic: "orders", partition: 0)
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    Array.new(count) { |index| producer.produce(topic:, partition:, payload: index.to_s) }.each { |handle| handle.wait(max_wait_timeout_ms: 30_000) }
  ensure
    producer.close
  end

  def offsets(session, range, **)
    seen = []
    [session.each_record("orders", 0, range, **) { |record| seen << record.offset }, seen]
  end

  def test_a_topic_is_described_and_one_that_is_not_there_is_not_created
    session do |session|
      orders, none = session.describe(%w[orders none])
      assert_equal [nil, [["orders", 0], ["orders", 1]]], [orders.error, orders.places]
      assert_predicate none, :missing?
      assert_equal %w[orders others], session.topic_names
      assert_match(/there is no topic ordres; did you mean orders\?/, assert_raises(Guildhall::Kafka::UnknownTopicError) { session.topic("ordres") }.message)
    end
  end

  def test_the_error_of_one_topic_is_its_own
    {5 => Guildhall::Kafka::KafkaError, 29 => Guildhall::Kafka::AuthorizationError}.each do |code, klass|
      @faults.topic_error("others", code)
      session do |session|
        orders, others = session.describe(%w[orders others])
        assert_nil orders.error
        assert_instance_of klass, others.error
        assert_equal code, others.error.code
        assert_equal({["orders", 0] => 0...0, ["orders", 1] => 0...0}, session.ranges([orders]))
        assert_instance_of klass, assert_raises(klass) { session.topic("others") }
      end
    end
  end

  def test_a_partition_without_a_leader_is_named_and_the_others_are_answered
    produce(3)
    @faults.leader("orders", 1, -1)
    session do |session|
      ranges = session.ranges([session.topic("orders")])
      assert_equal 0...3, ranges[["orders", 0]]
      assert_match(%r{\ALEADER_NOT_AVAILABLE: orders/1 has no leader; bring back the brokers}, ranges[["orders", 1]].message)
      assert_raises(Guildhall::Kafka::KafkaError) { session.ranges_of(session.topic("orders")) }
      assert_equal({0 => 0...3}, session.ranges_of(session.topic("orders"), [0]))
      assert_match(/UNKNOWN_PARTITION/, assert_raises(Guildhall::Kafka::KafkaError) { session.ranges_of(session.topic("orders"), [7]) }.message)
    end
  end

  def test_a_broker_that_is_down_or_silent_takes_no_answer_away_but_its_own
    Guildhall::Kafka::Testing::EmbeddedBroker.start(brokers: 3) do |broker|
      broker.create_topic("orders", partitions: 6)
      faults = MockFaults.new(broker)
      6.times { |partition| faults.leader("orders", partition, (partition % 3) + 1) }
      faults.coordinator("g", 1)
      faults.down(3)
      session({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", log_level: 0}, timeout: 5) do |session|
        topic = session.topic("orders")
        assert_equal 6, session.committed(topic.places).size
        faults.slow(2)
        ranges = session.ranges([topic]).transform_keys(&:last)
        [0, 3].each { |number| assert_equal 0...0, ranges.fetch(number) }
        [1, 4].each { |number| assert_match(%r{broker 2, the leader of orders/#{number}, does not answer}, ranges.fetch(number).message) }
        [2, 5].each { |number| assert_match(%r{LEADER_NOT_AVAILABLE: orders/#{number} has no leader}, ranges.fetch(number).message) }
      end
    end
  end

  def test_offsets_that_a_broker_refuses_are_errors_of_their_partitions
    session do |session|
      topics = session.describe(%w[orders others])
      @faults.refuse(MockFaults::LIST_OFFSETS, 29)
      ranges = session.ranges(topics)
      assert_equal [["orders", 0], ["orders", 1], ["others", 0]], ranges.keys.sort
      assert(ranges.values.all?(Guildhall::Kafka::AuthorizationError), ranges.inspect)
      @faults.accept(MockFaults::LIST_OFFSETS)
      @faults.refuse(MockFaults::LIST_OFFSETS, 29, times: 1) # one answer for all partitions of the leader
      assert_equal [0...0] * 3, session.ranges(topics).values
    end
  end

  def test_what_is_committed_for_the_group
    session do |session|
      assert_equal({["orders", 0] => [nil, nil], ["others", 0] => [nil, nil]}, session.committed([["orders", 0], ["others", 0]]))
      session.commit("orders", 0, 7)
      session.commit("orders", 0, 5)
      assert_equal({["orders", 0] => 5, ["orders", 1] => nil}, session.committed([["orders", 0], ["orders", 1]]).transform_values(&:first))
      assert_empty session.committed([])
    end
  end

  def test_a_group_without_a_coordinator_is_an_error_of_the_group
    @faults.refuse(MockFaults::FIND_COORDINATOR, 15)
    session(timeout: 2) do |session|
      error = assert_raises(Guildhall::Kafka::KafkaError) { session.committed([["orders", 0]]) }
      assert_match(/the committed offsets of group g; the coordinator is not available: check/, error.message)
      refute_kind_of Guildhall::Kafka::UnreachableError, error
      assert_equal 2, session.topic("orders").leaders.size, "everything else has answers"
    end
  end

  # As of a broker that has to create __consumer_offsets first.
  def test_a_coordinator_may_come_later_than_other_answers
    @faults.refuse(MockFaults::FIND_COORDINATOR, 15)
    later = Thread.new { sleep(2) && @faults.accept(MockFaults::FIND_COORDINATOR) }
    session(timeout: 0.5, coordinator_timeout: 60) { |session| assert_equal [[nil, nil]], session.committed([["orders", 0]]).values }
  ensure
    later.join
  end

  # As one whose member was killed within a transaction, which stays open until its time is over.
  def test_an_open_transaction_is_waited_for_by_who_changes_something_alone
    session { |session| session.commit("orders", 0, 7) }
    @faults.refuse(MockFaults::OFFSET_FETCH, 88)
    session(coordinator_timeout: 3) do |session|
      error = assert_raises(Guildhall::Kafka::KafkaError) { session.committed([["orders", 0]], settled: true) }
      assert_match(/the committed offsets of group g; the coordinator is not available/, error.message)
    end
    session(coordinator_timeout: 60) do |session|
      settings = answering_without_transactions(session)
      assert_equal 7, session.committed([["orders", 0]]).fetch(["orders", 0]).first
      assert_equal ["read_uncommitted"], settings
      session.committed([["orders", 0]]) # soon after
      assert_equal ["read_uncommitted"] * 2, settings
    end
  end

  # The embedded broker knows nothing of open transactions.
  # @return [Array<String>] the isolation levels of the clients that ask instead
  def answering_without_transactions(session)
    faults = @faults
    [].tap do |levels|
      session.define_singleton_method(:unsettled) do
        faults.accept(MockFaults::OFFSET_FETCH)
        super().tap { |other| levels << other.instance_variable_get(:@settings)[:"isolation.level"] }
      end
    end
  end

  def test_a_group_that_may_not_be_read
    @faults.refuse(MockFaults::FIND_COORDINATOR, 30)
    session do |session|
      error = assert_raises(Guildhall::Kafka::AuthorizationError) { session.committed([["orders", 0]]) }
      assert_match(/\AGROUP_AUTHORIZATION_FAILED: .*grant the user READ on the consumer group/, error.message)
    end
  end

  def test_reading_needs_no_right_on_a_group
    produce(3)
    @faults.refuse(MockFaults::FIND_COORDINATOR, 30)
    session { |session| assert_equal [3, [0, 1, 2]], offsets(session, 0...3) }
  end

  def test_a_range_is_read_within_its_limits_and_can_be_continued
    produce(10)
    session do |session|
      assert_equal [10, [*0...10]], offsets(session, 0...10)
      assert_equal [6, [*3...6]], offsets(session, 3...6)
      assert_equal [4, [*0...4]], offsets(session, 0...10, limit: 4)
      assert_equal [10, [*4...10]], offsets(session, 4...10, limit: 6)
      assert_equal [5, []], offsets(session, 5...5)
      seen = nil
      session.each_record("orders", 0, 0...10) { |record| break seen = record.raw_payload }
      assert_equal "0", seen, "left early"
      assert_equal [10, [8, 9]], offsets(session, 8...10), "and read again"
    end
  end

  def test_the_first_record_of_each_range
    produce(3)
    session do |session|
      found = session.first_records({["orders", 0] => 1...3, ["orders", 1] => 0...0}, seconds: 30)
      assert_equal [1, nil], [found.fetch(["orders", 0]).offset, found.fetch(["orders", 1])]
    end
  end

  def test_without_a_broker_the_error_names_the_addresses
    error = assert_raises(Guildhall::Kafka::UnreachableError) do
      session({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", log_level: 0}, timeout: 1) { |session| session.topic("orders") }
    end
    assert_equal "Kafka at 127.0.0.1:1 does not answer (it was asked for topic orders): check that a broker listens at bootstrap.servers, and the network between", error.message
  end

  def test_credentials_that_are_refused_are_not_taken_for_the_network
    refusing = RefusingBroker.new
    error = assert_raises(Guildhall::Kafka::AuthenticationError) do
      session({**refusing.settings, "group.id": "g", log_level: 0}, timeout: 60) { |session| session.topic("orders") }
    end
    assert_match(/\AKafka at 127\.0\.0\.1:\d+ refuses the credentials \(.*#{RefusingBroker::REASON}\): check sasl\.mechanism/, error.message)
  ensure
    refusing&.stop
  end

  def test_tls_that_fails_is_not_taken_for_the_network
    error = assert_raises(Guildhall::Kafka::AuthenticationError) do
      session({**@settings, "security.protocol": "ssl", log_level: 0}, timeout: 60) { |session| session.topic("orders") }
    end
    assert_match(/\ATLS with Kafka at .* fails \(.*SSL handshake failed.*\): check security\.protocol/, error.message)
  end
end
