# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "support/mock_faults"

# What the framework asks of librdkafka, on the embedded broker.
class KafkaClientTest < GuildhallTest
  Client = Guildhall::Kafka::Group::Client
  # Never called: nothing is polled here.
  Listener = Class.new

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("t", partitions: 1)
    @clients = []
  end

  def teardown
    @clients.each(&:close)
    @broker.stop
  end

  def client(**settings)
    @clients << Client.new({"bootstrap.servers": @broker.bootstrap_servers, "group.id": "g", **settings}, Listener.new)
    @clients.last
  end

  def produce(count)
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    Array.new(count) { producer.produce(topic: "t", partition: 0, payload: "x") }.each(&:wait)
  ensure
    producer.close
  end

  def test_a_member_starts_where_auto_offset_reset_says_while_nothing_is_committed
    produce(3)
    assert_equal [0, 3], %w[earliest latest].map { |reset| client("auto.offset.reset": reset).start_of("t", 0) }
    assert_equal [nil, nil], client.committed("t", 0)
  end

  def test_seek_targets_become_offsets
    produce(2)
    assert_equal [7, 0, 2], [7, :earliest, :latest].map { |target| client.resolve("t", 0, target) }
    # To brokers -1 is the end.
    assert_equal [0, 0, 0], [Time.new(1900), Time.at(-1), Time.at(-0.001)].map { |time| Client.milliseconds(time) }
    assert_equal 1_500, Client.milliseconds(Time.at(1.5))
    [0, :earliest, :latest, Time.now].each { |target| Client.validate_seek_target!(target) }
    [-1, 2**63, Time.at(10**20), 1.5, "earliest", :middle, nil].each do |target|
      assert_raises(Guildhall::ArgumentError) { Client.validate_seek_target!(target) }
    end
  end

  def test_a_commit_with_nothing_stored_is_no_error
    assert client.commit(timeout: 60)
    assert_includes client.topic_names(5_000), "t"
  end
end

# A member whose answers do not come: it is given up, and must not stay in memory for that, with statistics that nobody takes.
class KafkaClientLeavingTest < GuildhallTest
  class Listener
    attr_reader :statistics, :assigned

    def initialize = @statistics = 0
    def partitions_assigned(*) = @assigned = true
    def partitions_revoked(*, **) = nil
    def statistics_emitted(_json) = @statistics += 1
  end

  def test_a_client_that_cannot_leave_in_time_is_destroyed_later
    before = native_clients
    broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    broker.create_topic("t", partitions: 1)
    listener = Listener.new
    client = member(broker, listener)
    eventually { poll(client) || (listener.assigned && client.store("t", 0, 5)) }
    faults = MockFaults.new(broker)
    faults.slow(1)
    client.commit_soon # librdkafka waits for the answer before it leaves
    refute_empty client.member_id
    leaving = client
    client = nil
    refute leaving.close(timeout: 0.2)
    assert_equal ["", nil], [leaving.member_id, leaving.group_metadata] # nobody might answer
    heard = listener.statistics
    broker.suspend
    faults.quick(1)
    broker.resume
    eventually { native_clients == before + 1 } # the broker's own
    assert_equal heard, listener.statistics
  ensure
    client&.close
    broker&.stop
  end

  # librdkafka asks twice then, to take them and to give them up, and may never hear the answer to the second question.
  # Often: it is a race.
  def test_a_client_that_has_just_been_assigned_partitions_answers_once_and_leaves
    assert_equal "[[true, [:assigned, true, :revoked]]]\n", assert_forked(<<~RUBY, timeout: 60)
      require "guildhall/kafka/testing"
      module Queues
        extend FFI::Library
        ffi_lib(*Rdkafka::Bindings.ffi_libraries.map(&:name))
        attach_function :rd_kafka_queue_get_consumer, %i[pointer], :pointer
        attach_function :rd_kafka_queue_length, %i[pointer], :size_t
      end
      SEEN = []
      Guildhall::Kafka::Broker::Librdkafka.singleton_class.prepend(Module.new { def answer_rebalance(*, assigned:) = SEEN.push(assigned) && super })
      class Listener
        def partitions_assigned(_pairs) = SEEN << :assigned
        def partitions_revoked(_pairs, lost:) = SEEN << :revoked
        def statistics_emitted(_json) = nil
      end
      broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
      broker.create_topic("t", partitions: 1)
      seen = Array.new(30) do |number|
        settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g\#{number}", "group.protocol": "consumer"}
        client = Guildhall::Kafka::Group::Client.new(settings, Listener.new)
        client.subscribe(["t"])
        client.with_handle do |handle|
          queue = Queues.rd_kafka_queue_get_consumer(handle)
          sleep(0.001) while Queues.rd_kafka_queue_length(queue).zero? # until it is asked
          Guildhall::Kafka::Broker::Librdkafka.rd_kafka_queue_destroy(queue)
        end
        [client.close(timeout: 20), SEEN.shift(9)]
      end
      p seen.uniq
      broker.stop
    RUBY
  end

  private

  def member(broker, listener)
    client = Guildhall::Kafka::Group::Client.new({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "group.protocol": "classic",
                                                  "statistics.interval.ms": 50, "enable.auto.offset.store": false, "enable.auto.commit": false}, listener)
    client.subscribe(["t"])
    client
  end

  def poll(client)
    message = client.with_handle { |handle| Rdkafka::Bindings.rd_kafka_consumer_poll(handle, 50) }
    Rdkafka::Bindings.rd_kafka_message_destroy(message) unless message.null?
    nil
  end

  # Their main threads. A thread that one of them has just started still has its name.
  def native_clients
    Dir["/proc/self/task/*/comm"].count do |file|
      File.read(file).strip == "rdk:main"
    rescue SystemCallError
      false # it has just ended
    end
  end
end

class KafkaCoordinatorTest < GuildhallTest
  NOT_COORDINATOR = 16
  UNKNOWN_GROUP = 69

  def test_asks_again_while_it_settles
    answers = [NOT_COORDINATOR, NOT_COORDINATOR, nil]
    assert_equal :offsets, Guildhall::Kafka::Group::Client.ask_coordinator { answers.shift.then { |code| code ? raise(error(code)) : :offsets } }
    assert_empty answers
  end

  def test_raises_what_will_not_settle
    asked = 0
    raised = assert_raises(Rdkafka::RdkafkaError) { Guildhall::Kafka::Group::Client.ask_coordinator { (asked += 1) && raise(error(UNKNOWN_GROUP)) } }
    assert_equal [1, :group_id_not_found], [asked, raised.code]
  end

  def test_ends_when_the_time_is_up
    assert_raises(Rdkafka::RdkafkaError) { Guildhall::Kafka::Group::Client.ask_coordinator(0) { raise error(NOT_COORDINATOR) } }
  end

  private

  def error(code) = Rdkafka::RdkafkaError.new(code)
end
