# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

# A thread that uses a client of librdkafka may be killed at any moment: closing the client does not wait for it.
class KafkaNativeClientTest < GuildhallTest
  class Nobody
    def partitions_assigned(_) = nil
    def partitions_revoked(_, lost:) = nil
    def statistics_emitted(_) = nil
  end

  def setup
    @client = Guildhall::Kafka::Group::Client.new({"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}, Nobody.new)
    @native = @client.instance_variable_get(:@native)
  end

  def teardown
    @native.instance_variable_set(:@operations_in_progress, 0)
    @client.close(timeout: 5) unless @native.instance_variable_get(:@inner).nil?
  end

  def counted = @native.instance_variable_get(:@operations_in_progress)

  def test_a_thread_that_is_killed_before_its_call_is_counted
    lock = @native.instance_variable_get(:@access_mutex)
    thread = nil
    lock.synchronize do
      thread = Thread.new { @client.with_handle { nil } }
      eventually { thread.status == "sleep" }
      thread.kill
    end
    assert thread.join(20)
    assert_equal 0, counted
  end

  # At any moment, while others call it.
  def test_threads_that_are_killed_while_they_wait_for_each_other
    10.times do
      started = Thread::Queue.new
      threads = Array.new(4) { Thread.new { loop { @client.with_handle { started << true } } } }
      20.times { assert started.pop(timeout: 20) }
      threads.each(&:kill)
      assert(threads.all? { |thread| thread.join(20) })
      assert_equal 0, counted
    end
  end

  def test_a_client_that_is_closed_refuses_calls
    assert @client.close(timeout: 5)
    assert_raises(Rdkafka::ClosedInnerError) { @native.with_inner { flunk } }
    assert_equal 0, counted
  end

  # Of each kind that the framework makes.
  def test_every_client_is_counted_so
    settings = {"bootstrap.servers": "127.0.0.1:1"}
    Guildhall::Kafka::Broker::AdminClient.open(settings) { |admin| assert_counted admin.instance_variable_get(:@client) }
  end

  def assert_counted(client)
    assert_kind_of Guildhall::Kafka::Broker::NativeClient, client.instance_variable_get(:@native_kafka)
  end

  # librdkafka waits for a message that nobody has given back.
  def test_a_client_that_is_never_destroyed_does_not_hold_up_the_end_of_the_process
    assert_equal "false", assert_forked(<<~'RUBY', timeout: 60)
      require "guildhall/kafka"
      require "guildhall/kafka/testing"

      listener = Class.new do
        def partitions_assigned(_) = nil
        def partitions_revoked(_, lost:) = nil
        def statistics_emitted(_) = nil
      end.new
      broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
      broker.create_topic("topic", partitions: 1)
      servers = {"bootstrap.servers": broker.bootstrap_servers}
      producer = Guildhall::Kafka::Producer.new(servers)
      producer.produce_sync(topic: "topic", payload: "x")
      producer.close
      client = Guildhall::Kafka::Group::Client.new({**servers, "group.id": "g"}, listener)
      client.assign("topic" => {0 => 0})
      message = nil
      client.with_handle { |handle| message = Rdkafka::Bindings.rd_kafka_consumer_poll(handle, 100) } until message && !message.null?
      print client.close(timeout: 0.5)
    RUBY
  end

  def test_a_thread_that_is_killed_in_its_call
    began = Thread::Queue.new
    thread = Thread.new { @client.with_handle { (began << true) && sleep } }
    assert began.pop(timeout: 20)
    assert thread.kill.join(20)
    assert_equal 0, counted
  end
end
