# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaPartitionLagTest < GuildhallTest
  Client = Struct.new(:latest, :end_of) do
    def end_offset(*) = end_of
    def position(*) = 10
    def resolve(*) = latest
    def start_of(*) = 7
  end
  # Answers or not, and does at once what it is asked for.
  Listener = Struct.new(:client, :answering) do
    def answers = self
    def from?(topic, partition) = answering && topic == "orders" && partition == 3
    def request = yield
  end
  Partition = Struct.new(:name, :number, :progress, :inbox, :denied, :newest_time, :blocked) do
    def parked_keys = nil
    def place = {topic: name, partition: number}
  end
  Progress = Struct.new(:read_to, :commit_position, :size_beyond)
  Inbox = Struct.new(:records) do
    def idle? = true
    def paused? = false
    def leaving? = false
  end

  def setup
    @client = Client.new(12, 10)
    @listener = Listener.new(@client, true)
    @partition = Partition.new("orders", 3, Progress.new(10, 10, 0), Inbox.new)
    @lag = Guildhall::Kafka::Partition::Lag.new(@partition, @listener)
  end

  def test_nothing_is_left
    assert_equal({topic: "orders", partition: 3, messages: 0, seconds: 0.0, paused: false, blocked: nil}, @lag.measure)
  end

  # A broker that stands still has written what nobody knows of.
  def test_while_the_broker_does_not_answer_it_is_not_known
    @listener.answering = false
    assert_equal [nil, nil], [@lag.messages, @lag.measure]
  end

  def test_of_what_may_not_be_read_it_is_not_known
    @partition.denied = RuntimeError.new
    assert_equal [nil, nil], [@lag.messages, @lag.measure]
    assert_predicate @lag, :idle_behind?
  end

  def test_the_broker_is_asked_only_while_it_answers
    assert_equal [nil], inquire # the end that librdkafka knows of was reached
    @client.end_of = nil
    assert_equal [12], inquire
    @listener.answering = false
    assert_equal [nil], inquire
  end

  def test_where_reading_is_denied_the_watchdog_gets_an_answer_although_nothing_may_be_left
    @partition.denied = RuntimeError.new
    @client.latest = 10
    assert_equal [10], inquire
  end

  private

  def inquire = [].tap { |answers| @lag.inquire { |answer| answers << answer } }
end
