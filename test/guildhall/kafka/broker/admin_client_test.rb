# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaAdminClientTest < GuildhallTest
  # It is in a callback that does not return.
  def test_a_client_whose_polling_thread_does_not_end_in_time_is_destroyed_later
    admin = Guildhall::Kafka::Broker::AdminClient.new({"bootstrap.servers": "127.0.0.1:1", log_level: 0})
    native = admin.instance_variable_get(:@native)
    native.instance_variable_get(:@polling_thread).kill.join
    let_go = Thread::Queue.new
    stuck = Thread.new do
      sleep
    ensure
      let_go.pop
    end
    eventually { stuck.status == "sleep" }
    native.instance_variable_set(:@polling_thread, stuck)
    admin.close(timeout: 0.1)
    refute_nil native.instance_variable_get(:@inner), "not while it is in use"
    let_go << true
    eventually { native.instance_variable_get(:@inner).nil? }
    admin.close
  end
end
