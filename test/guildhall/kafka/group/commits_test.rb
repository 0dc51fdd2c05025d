# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "support/mock_faults"

class KafkaCommitsTest < GuildhallTest
  LOADING = 14 # COORDINATOR_LOAD_IN_PROGRESS

  # What the embedded broker is asked.
  module Requests
    extend FFI::Library

    OFFSET_COMMIT = 8
    ffi_lib(*Rdkafka::Bindings.ffi_libraries.map(&:name))
    attach_function :rd_kafka_mock_start_request_tracking, %i[pointer], :void, blocking: true
    attach_function :rd_kafka_mock_get_requests, %i[pointer pointer], :pointer, blocking: true
    attach_function :rd_kafka_mock_request_api_key, %i[pointer], :int16
    attach_function :rd_kafka_mock_request_destroy_array, %i[pointer size_t], :void

    def self.commits(cluster)
      count = FFI::MemoryPointer.new(:size_t)
      requests = rd_kafka_mock_get_requests(cluster, count)
      number = count.read(:size_t)
      requests.read_array_of_pointer(number).count { |request| rd_kafka_mock_request_api_key(request) == OFFSET_COMMIT }
    ensure
      rd_kafka_mock_request_destroy_array(requests, number) if requests
    end
  end

  # Answers requests to commit with these codes first, without making them.
  module Refusing
    CODES = [] # rubocop:disable Style/MutableConstant -- the test adds to it
    def rd_kafka_commit_queue(...) = CODES.shift || super
  end
  Guildhall::Kafka::Broker::Librdkafka.singleton_class.prepend(Refusing)

  # Remembers what is assigned.
  class Assignments
    attr_reader :pairs

    def initialize = @pairs = []
    def partitions_assigned(pairs) = @pairs.concat(pairs)
    def partitions_revoked(pairs, lost:) = @pairs -= pairs
  end

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("t", partitions: 1)
    @client, @reader = connect
  end

  def teardown
    disconnect(@client, @reader)
    @broker.stop
  end

  def connect
    assignments = Assignments.new
    settings = {"bootstrap.servers": @broker.bootstrap_servers, "group.id": "g", "enable.auto.offset.store": false,
                "enable.auto.commit": false, "session.timeout.ms": 60_000, "reconnect.backoff.max.ms": 200}
    client = Guildhall::Kafka::Group::Client.new(settings, assignments)
    reader = Guildhall::Kafka::Reading::Reader.for(client)
    client.subscribe(["t"])
    eventually { client.with_handle { reader.take(50) } && assignments.pairs.any? }
    [client, reader]
  end

  def disconnect(client, reader)
    reader.close
    client.close(timeout: 5)
  end

  def committed
    @client.committed("t", 0).first
  end

  # Commits as the timer does, and waits for the answer.
  def commit_soon
    @client.commit_soon
    eventually { @client.look_for_answer.nil? && !@client.committing? }
  end

  # The coordinator refuses the commits that the block sends.
  def refused
    faults = MockFaults.new(@broker)
    faults.refuse(MockFaults::OFFSET_COMMIT, LOADING)
    yield
    eventually { @client.look_for_answer.nil? && !@client.committing? }
    faults.accept(MockFaults::OFFSET_COMMIT)
  end

  def test_a_turn_that_ends_after_the_last_one
    commits = Guildhall::Kafka::Group::Commits.allocate
    commits.instance_variable_set(:@permit, Thread::Queue.new.close)
    assert_nil commits.send(:release, :permit)
  end

  def test_what_was_stored_is_committed_in_the_background
    assert @client.store("t", 0, 5)
    eventually { @client.commit_soon.nil? && committed == 5 }
    @client.store("t", 0, 2)
    @client.commit_to("t", 0, 2)
    eventually { @client.commit_soon.nil? && committed == 2 }
  end

  # While nobody answers, librdkafka keeps each commit, and the broker gets all of them when it is back: in an order that
  # nobody knows.
  def test_without_answers_commits_do_not_pile_up
    assert @client.store("t", 0, 1)
    assert @client.commit
    cluster = @broker.instance_variable_get(:@cluster)
    Requests.rd_kafka_mock_start_request_tracking(cluster)
    @broker.suspend
    (2..20).each do |offset|
      @client.store("t", 0, offset)
      @client.commit_soon
      sleep(0.02)
    end
    @broker.resume
    assert @client.commit(timeout: 60)
    assert_equal 20, committed
    assert_includes 1..4, Requests.commits(cluster)
  end

  def test_a_lower_offset_is_committed_before_what_was_stored_since
    @client.store("t", 0, 10)
    assert @client.commit
    @broker.suspend
    @client.commit_to("t", 0, 3)
    @client.store("t", 0, 4)
    @broker.resume
    assert @client.commit(timeout: 60)
    assert_equal 4, committed
  end

  def test_metadata_beside_a_committed_offset_is_committed_and_holds_up_nothing
    @client.store("t", 0, 5, "a")
    assert @client.commit
    @client.store("t", 0, 5, "b")
    @client.renew_metadata("t", 0, 5, "b")
    assert @client.commit
    assert_equal [5, "b"], @client.committed("t", 0)
    @client.store("t", 0, 7, "c")
    eventually do
      @client.renew_metadata("t", 0, 5, "d")
      @client.commit_soon
      committed == 7
    end
    @client.forget_metadata("t", 0)
    assert @client.commit
  end

  def test_a_lower_offset_that_the_coordinator_did_not_take_is_committed_later_whatever_was_committed_before
    @client.store("t", 0, 10, "a")
    commit_soon
    @client.renew_metadata("t", 0, 10, "b")
    commit_soon
    assert_equal [10, "b"], @client.committed("t", 0)
    @client.store("t", 0, 3)
    refused { @client.commit_to("t", 0, 3) }
    assert @client.commit(timeout: 60)
    assert_equal 3, committed
  end

  # Another member has the partition, and has committed more.
  def test_of_a_partition_that_was_given_up_nothing_is_committed
    @client.commit_at("t", 0, 1_000, timeout: 30)
    refused { @client.commit_to("t", 0, 10) }
    @client.renew_metadata("t", 0, 10, "x")
    @client.drop("t", 0)
    assert @client.commit(timeout: 60)
    refused do
      @client.commit_to("t", 0, 10)
      @client.drop("t", 0) # before the answer
    end
    assert @client.commit(timeout: 60)
    assert_equal [1_000, nil], @client.committed("t", 0)
  end

  def test_nobody_answers
    refute @client.commit_overdue?(0)
    @client.store("t", 0, 1)
    @broker.suspend
    assert_raises(Rdkafka::RdkafkaError) { @client.commit(timeout: 0.5) }
    assert_raises(Rdkafka::RdkafkaError) { @client.commit(timeout: 0.1) }
    assert @client.commit_overdue?(0.4)
    refute @client.commit_overdue?(600)
    @broker.resume
    assert @client.commit(timeout: 60)
    assert_equal 1, committed
    refute @client.commit_overdue?(0)
  end

  # As with a client that librdkafka ends at that moment: the request is not made at all.
  def test_a_lower_offset_whose_commit_cannot_be_sent_is_sent_with_the_next_one
    @client.store("t", 0, 5)
    assert @client.commit
    Refusing::CODES << -172
    @client.commit_to("t", 0, 2)
    assert_empty Refusing::CODES
    eventually { @client.commit_soon.nil? && @client.committed("t", 0).first == 2 }
  end
end
