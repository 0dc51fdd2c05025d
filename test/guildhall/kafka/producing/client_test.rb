# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

# How a client of a producer's ends; producer_test.rb has what it does.
class KafkaProducingClientTest < GuildhallTest
  SETTINGS = {"bootstrap.servers": "127.0.0.1:1", log_level: 0}.freeze
  private_constant :SETTINGS

  def client(**settings, &) = Guildhall::Kafka::Producing::Client.new({**SETTINGS, **settings}, &)
  def now = Guildhall::Clock.now

  # Each client of librdkafka's has some.
  def native_threads
    Dir["/proc/self/task/*/comm"].count do |file|
      File.read(file).start_with?("rdk:")
    rescue SystemCallError
      nil # it has just ended
    end
  end

  def setup
    skip "no /proc" unless File.directory?("/proc/self/task")
    @before = native_threads
  end

  # Else it would warn of them where an application has sent something before it forks.
  def test_puma_takes_its_threads_for_safe
    before = Thread.list
    client = client { nil }
    client.send(:tell, [[:failed]]) # the listener's thread comes with the first event
    threads = (Thread.list - before).to_h { |thread| [thread.name, thread.thread_variable_get(:fork_safe)] }
    assert_equal({"guildhall producer" => true, "guildhall producer's events" => true}, threads)
  ensure
    client&.close(now)
  end

  def test_a_thread_that_is_killed_while_it_closes_a_client_leaves_nothing_behind
    client = client { nil }
    used = Thread::Queue.new
    over = Thread::Queue.new
    using = Thread.new { client.with_handle { (used << true) && over.pop } }
    used.pop
    closing = Thread.new { client.close(now) }
    eventually { client.instance_variable_get(:@handle).nil? }
    closing.kill.join
    over << true
    using.join
    eventually { native_threads == @before }
    assert client.close(now), "closed already"
  end

  # It is called in the thread that takes the reports, for which closing waits.
  def test_who_is_told_statistics_may_close_it
    closed = Thread::Queue.new
    client = client("statistics.interval.ms": 50) { |kind,| closed << client.close(now) if kind == :statistics && closed.empty? }
    assert closed.pop(timeout: 60)
    eventually { native_threads == @before }
  end
end
