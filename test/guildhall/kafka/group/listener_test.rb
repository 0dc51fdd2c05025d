# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "support/client_failure"

# A listener's thread outlives whatever happens in it; on the embedded broker.
class KafkaListenerTest < GuildhallTest
  LIMIT = 60 # seconds

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("t", partitions: 1)
    @seen = seen = Thread::Queue.new
    consumer = Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { messages.each { |message| seen << message.offset } } }
    @application = Guildhall::Kafka::Application.new
    servers = @broker.bootstrap_servers
    @application.config.kafka = {"bootstrap.servers": servers, "auto.offset.reset": "earliest", "session.timeout.ms": 6_000}
    @application.config.logger = nil
    @application.routes.draw { topic("t") { consumer(consumer) } }
    @errors = errors = Thread::Queue.new
    @application.instrumentation.subscribe("error.occurred") { |event| errors << event.payload.values_at(:type, :error) }
  end

  def teardown
    @application.stop(timeout: 20)
    @broker.stop
  end

  def listener = @application.listeners.first

  def produce
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    producer.produce(topic: "t", partition: 0, payload: "x").wait
  ensure
    producer.close
  end

  def start
    @application.start
    produce
    assert_equal 0, @seen.pop(timeout: LIMIT)
  end

  # Of librdkafka's mock cluster.
  module Mock
    extend FFI::Library

    ffi_lib(*Rdkafka::Bindings.ffi_libraries.map(&:name))
    attach_function :rd_kafka_mock_set_apiversion, %i[pointer int16 int16 int16], :int
  end
  CONSUMER_GROUP_HEARTBEAT = 68

  # As brokers before Kafka 4.
  def forget_the_consumer_protocol
    Mock.rd_kafka_mock_set_apiversion(@broker.instance_variable_get(:@cluster), CONSUMER_GROUP_HEARTBEAT, -1, -1)
    @application.config.kafka.delete(:"session.timeout.ms")
  end

  def test_a_member_is_refused_the_consumer_protocol_and_joins_by_the_classic_one
    forget_the_consumer_protocol
    refused = Thread::Queue.new
    @application.instrumentation.subscribe("protocol.refused") { |event| refused << event.payload }
    start
    assert_equal [{group: "guildhall", reason: "_UNSUPPORTED_FEATURE"}], Array.new(refused.size) { refused.pop }
    assert_nil @application.failure
    assert_empty @errors
    @application.stop(timeout: 20)
    @application.start
    produce
    assert_equal 1, @seen.pop(timeout: LIMIT)
    assert_empty refused, "said once"
  end

  def test_a_member_that_has_to_use_the_consumer_protocol_says_what_to_do
    forget_the_consumer_protocol
    @application.config.group_protocol = :consumer
    @application.start
    type, error = @errors.pop(timeout: LIMIT)
    assert_equal ["fatal", Guildhall::Kafka::FatalError], [type, error.class]
    assert_includes error.message, "set config.group_protocol to :classic"
  end

  def test_after_an_error_the_consumer_rejoins_the_group
    start
    before = listener.client
    listener.request { raise IOError, "the network is gone" }
    type, error = @errors.pop(timeout: LIMIT)
    assert_equal ["listener", "the network is gone"], [type, error.message]
    produce
    assert_equal 1, @seen.pop(timeout: LIMIT)
    refute_same before, listener.client
  end

  GROUP_AUTHORIZATION_FAILED = 30
  FENCED_INSTANCE_ID = 82
  GROUP_ID_NOT_FOUND = 69
  INVALID_REQUEST = 42

  # Of members with the classic protocol, librdkafka sees fatal errors of static ones only.
  def start_static
    @application.config.kafka[:"group.instance.id"] = "a"
    start
    listener
  end

  # With the consumer protocol librdkafka takes a right that is missing for a moment, a full group, a broker's own failure for fatal.
  def test_a_fatal_error_that_may_pass_is_followed_by_another_client
    before = start_static.client
    ClientFailure.of(before, GROUP_AUTHORIZATION_FAILED)
    type, error = @errors.pop(timeout: LIMIT)
    assert_equal %w[listener GROUP_AUTHORIZATION_FAILED], [type, error.code_name]
    assert_includes error.message, "grant READ on group guildhall"
    produce
    assert_equal 1, [@seen.pop(timeout: LIMIT), @seen.pop(timeout: 1)].compact.last # the first one again: it was not committed
    assert_nil @application.failure
    refute_same before, listener.client
  end

  def test_a_fatal_error_that_another_client_would_have_too_ends_the_member
    ClientFailure.of(start_static.client, FENCED_INSTANCE_ID)
    assert_equal "fatal", @errors.pop(timeout: LIMIT).first
    assert_equal "FENCED_INSTANCE_ID", @application.failure.code_name
    assert_nil listener.client
  end

  # A request that the coordinator does not understand, of a client that it has let in: the next one begins anew.
  def test_an_error_that_would_keep_a_client_out_does_not_end_one_that_was_let_in
    ClientFailure.of(start_static.client, INVALID_REQUEST)
    type, error = @errors.pop(timeout: LIMIT)
    assert_equal %w[listener INVALID_REQUEST], [type, error.code_name]
    produce
    assert_equal 1, [@seen.pop(timeout: LIMIT), @seen.pop(timeout: 1)].compact.last
    assert_nil @application.failure
  end

  # What waits for the end of a group, such as guildhall server, hears of it whatever subscribers do.
  def test_a_subscriber_that_ends_the_thread_does_not_keep_back_that_a_member_has_ended
    failed = Thread::Queue.new
    @application.on_failure { failed << true }
    @application.instrumentation.subscribe("error.occurred") { Thread.exit }
    ClientFailure.of(start_static.client, FENCED_INSTANCE_ID)
    assert failed.pop(timeout: 60)
  end

  # That was deleted while the member could not be reached. To who is not a member yet it says that the brokers do not let it in.
  def test_a_member_whose_group_is_gone_joins_it_anew
    ClientFailure.of(start_static.client, GROUP_ID_NOT_FOUND)
    type, error = @errors.pop(timeout: LIMIT)
    assert_equal ["listener", "GROUP_ID_NOT_FOUND: group guildhall was deleted, or the brokers have lost it; joining again"], [type, error.message]
    produce
    assert_equal 1, [@seen.pop(timeout: LIMIT), @seen.pop(timeout: 1)].compact.last
    assert_nil @application.failure
  end

  # And not when the next commit begins; if there is nothing to commit, no event is published.
  def test_a_commit_is_published_when_it_is_answered
    @application.config.commit_interval = 2
    commits = Thread::Queue.new
    @application.instrumentation.subscribe("offsets.committed") { |event| commits << event.payload.values_at(:seconds, :error) }
    start
    seconds, error = commits.pop(timeout: LIMIT)
    assert_nil error
    assert_operator seconds, :<, 1.5
    assert_nil commits.pop(timeout: 5)
  end

  def test_a_stop_does_not_wait_for_the_pause_after_an_error
    start
    listener.request { raise IOError, "the network is gone" }
    assert @errors.pop(timeout: LIMIT)
    assert @application.stop(timeout: 60)
    assert_nil listener.client
  end

  # As a question for topics, which no broker answers.
  def test_a_stop_does_not_wait_for_threads_that_ask_brokers
    start
    asking = listener.send(:in_background, "topics") { sleep }
    assert listener.include?(asking)
    assert @application.stop(timeout: 60)
    refute_predicate asking, :alive?
  end

  def test_a_client_that_the_group_has_dropped_is_not_waited_for_long
    start
    timeouts = Thread::Queue.new
    one = listener
    one.client.define_singleton_method(:close) { |timeout:| super(timeout:).tap { timeouts << timeout } }
    one.client.define_singleton_method(:commit_overdue?) { |_| true }
    one.request { one.partitions_revoked([["t", 0]], lost: true) }
    one.request { one.send(:rejoin_group_if_stuck) }
    assert_equal 3, timeouts.pop(timeout: LIMIT)
    assert_match(/commit still pending/, @errors.pop(timeout: LIMIT).last.message)
  end

  def test_a_subscriber_that_ends_the_thread_is_reported_and_the_thread_replaced
    exits = [true]
    @application.instrumentation.subscribe("rebalance.partitions_assigned") { Thread.exit if exits.shift }
    start
    type, error = @errors.pop(timeout: LIMIT)
    assert_equal ["listener", Guildhall::TaskError], [type, error.class]
  end

  # The health check must not take that for a listener that does not poll any more.
  def test_closing_a_client_that_is_replaced_counts_as_a_sign_of_life
    start
    one = listener
    seen = []
    one.client.define_singleton_method(:close) { |**options| super(**options).tap { seen << one.polled_at } }
    one.request { (seen << one.polled_at) && raise(IOError, "the network is gone") }
    assert @errors.pop(timeout: LIMIT)
    assert_equal 2, seen.size
    assert_operator seen.first, :<, seen.last
  end

  def test_a_rebalance_whose_commit_fails_is_published
    revoked = Thread::Queue.new
    @application.instrumentation.subscribe("rebalance.partitions_revoked") { |event| revoked << event.payload[:partitions] }
    start
    listener.client.define_singleton_method(:commit) { |**| raise Rdkafka::RdkafkaError, -195 }
    listener.request { listener.partitions_revoked([["t", 0]], lost: false) }
    assert_equal [["t", 0]], revoked.pop(timeout: LIMIT)
    assert_equal ["rebalance", Rdkafka::RdkafkaError], @errors.pop(timeout: LIMIT).then { |type, error| [type, error.class] }
    assert_empty @application.partitions
  end

  def test_a_subscriber_that_raises_costs_no_partition
    @application.instrumentation.subscribe("rebalance.partitions_assigned", "rebalance.partitions_revoked") { raise "no" }
    start
    assert_equal 1, @application.partitions.size
    assert @application.stop(timeout: 60)
  end
end
