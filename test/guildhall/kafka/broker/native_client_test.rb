# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "json"
require "logger"

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
    assert thread.join(60)
    assert_equal 0, counted
  end

  # At any moment, while others call it.
  def test_threads_that_are_killed_while_they_wait_for_each_other
    10.times do
      started = Thread::Queue.new
      threads = Array.new(4) { Thread.new { loop { @client.with_handle { started << true } } } }
      20.times { assert started.pop(timeout: 60) }
      threads.each(&:kill)
      assert(threads.all? { |thread| thread.join(20) })
      assert_equal 0, counted
    end
  end

  def test_a_client_that_is_closed_refuses_calls
    assert @client.close(timeout: 60)
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

  # A call of C that keeps the GVL.
  module Held
    extend FFI::Library

    ffi_lib FFI::CURRENT_PROCESS
    attach_function :usleep, %i[uint], :int
  end

  # Calls that keep the GVL may wait for its locks: its threads have them while they log.
  def test_librdkafka_goes_on_while_nothing_of_ruby_can_run
    times = []
    listener = Nobody.new
    listener.define_singleton_method(:statistics_emitted) { |json| times << (JSON.parse(json)["ts"] / 1e6) }
    logger = Rdkafka::Config.logger
    Rdkafka::Config.logger = Logger.new(nil)
    client = Guildhall::Kafka::Group::Client.new({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", debug: "all", "statistics.interval.ms": 20}, listener)
    began = Guildhall::Clock.now
    Held.usleep(1_000_000)
    ended = Guildhall::Clock.now
    poll = -> { client.with_handle { |handle| Rdkafka::Bindings.rd_kafka_consumer_poll(handle, 100) } }
    eventually { poll.call && times.any? { |time| time > ended } }
    assert_operator times.count { |time| time.between?(began, ended) }, :>, 5
  ensure
    client&.close(timeout: 5)
    Rdkafka::Config.logger = logger
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
    assert began.pop(timeout: 60)
    assert thread.kill.join(60)
    assert_equal 0, counted
  end
end
