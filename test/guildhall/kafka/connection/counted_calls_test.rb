# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

# A thread that uses a client of librdkafka may be killed at any moment: closing the client does not wait for it.
class KafkaCountedCallsTest < GuildhallTest
  class Nobody
    def partitions_assigned(_) = nil
    def partitions_revoked(_, lost:) = nil
    def statistics_emitted(_) = nil
  end

  def setup
    @client = Guildhall::Kafka::Connection::Client.new({"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}, Nobody.new)
    @native = @client.instance_variable_get(:@native)
  end

  def teardown
    @native.instance_variable_set(:@operations_in_progress, 0)
    @client.close(timeout: 5)
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

  def test_a_thread_that_is_killed_in_its_call
    began = Thread::Queue.new
    thread = Thread.new { @client.with_handle { (began << true) && sleep } }
    assert began.pop(timeout: 20)
    assert thread.kill.join(20)
    assert_equal 0, counted
  end
end
