# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka/testing"
require "guildhall/json"
require "active_record"

class OfflineTopicTest < GuildhallTest
  class Orders < Guildhall::Kafka::Consumer
    SEEN = Queue.new
    def consume
      messages.each do |message|
        raise KeyError, "no id" unless message.payload["id"]

        SEEN << [message.payload["id"], message.key, attempt]
        produce_async(topic: "copies", payload: {"copy" => message.payload["id"]})
      end
    end

    def shutdown = SEEN << :shutdown
    def tick = SEEN << :tick
  end

  class Copies < Guildhall::Kafka::Consumer
    def consume
      transaction do
        messages.each { |message| produce_async(topic: "copies", payload: message.payload) }
        raise KeyError, "at first" unless retrying?

        mark_as_consumed(messages.to_a.last)
      end
    end
  end

  # Writes to a database that fails as often as the test says, with the error that it says.
  class Rows < Guildhall::Kafka::Consumer
    FAILING = [] # rubocop:disable Style/MutableConstant -- filled by tests
    DONE = []    # rubocop:disable Style/MutableConstant

    def consume
      error = FAILING.shift
      raise error if error

      DONE.concat(messages.raw_payloads)
    end
  end

  def setup
    [Rows::FAILING, Rows::DONE].each(&:clear)
    Orders::SEEN.clear
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    @application.routes.draw do
      topic "copies" do
        serializer Guildhall::JSON
      end
      pattern(/\Aorders/) do
        consumer Orders
        deserializer Guildhall::JSON.lazy
        dead_letter_queue topic: "dead", max_retries: 1, dispatch_undecodable: true
      end
      topic("rows") do
        consumer Rows
        dead_letter_queue topic: "dead", max_retries: 0
        retries contention_limit: 3
      end
      topic("stubborn") { consumer Orders }
      topic("once") do
        consumer Copies
        deserializer Guildhall::JSON
        transactional
      end
    end
  end

  def test_consumes_as_the_route_says
    topic = topic("orders").deliver({"id" => 1}, '{"id": 2}', nil.to_s, key: "k")

    assert_equal [[1, "k", 1], [2, "k", 1]], Array.new(2) { Orders::SEEN.pop }
    assert_equal 3, topic.done
    assert_equal([["dead", ""]], topic.dead_letters.map { |letter| letter.values_at(:topic, :payload) })
    assert_equal(['{"copy":1}', '{"copy":2}'], topic.produced.map { |message| message[:payload] })
  end

  def test_failures_are_retried_without_waiting
    topic = topic("orders-eu").deliver({"id" => 1}, {"other" => 2}, {"id" => 3}).tick.leave

    assert_equal [3, %w[2]], [topic.done, topic.dead_letters.map { |letter| letter[:payload][/\d/] }]
    assert_includes topic.errors.map(&:class), KeyError
    assert_equal %i[tick shutdown], Array.new(Orders::SEEN.size) { Orders::SEEN.pop }.last(2)
  end

  def test_a_transaction_is_committed_or_not
    topic = topic("once").deliver({"id" => 1}, {"id" => 2})

    assert_equal [2, ['{"id":1}', '{"id":2}'], [KeyError]], [topic.done, topic.produced.map { |message| message[:payload] }, topic.errors.map(&:class)]
  end

  # As Active Record wraps what an adapter raises.
  def statement_invalid(cause)
    raise ActiveRecord::StatementInvalid, "wrapped", cause:
  rescue ActiveRecord::StatementInvalid => error
    error
  end

  def test_nothing_is_dead_lettered_while_a_database_is_out_of_reach
    [ActiveRecord::ConnectionNotEstablished, ActiveRecord::ConnectionFailed, ActiveRecord::DatabaseConnectionError, ActiveRecord::ConnectionTimeoutError,
     ActiveRecord::ExclusiveConnectionTimeoutError].map { |klass| klass.new("down") }.push(statement_invalid(Errno::ECONNRESET.new)).each do |error|
      Rows::FAILING.replace([error] * 20)
      topic = topic("rows").deliver("a", "b")
      assert_equal [[], 2, %w[a b]], [topic.dead_letters, topic.done, Rows::DONE.shift(2)], error.class
    end
  end

  def test_deadlocks_and_timeouts_of_a_database_are_no_fault_of_a_message_unless_it_alone_has_them
    [ActiveRecord::StatementTimeout, ActiveRecord::QueryCanceled, ActiveRecord::Deadlocked, ActiveRecord::LockWaitTimeout, ActiveRecord::AdapterTimeout].each do |klass|
      Rows::FAILING.replace([klass.new("busy")] * 2)
      topic = topic("rows").deliver("a", "b")
      assert_equal [[], 2, %w[a b]], [topic.dead_letters, topic.done, Rows::DONE.shift(2)], klass
      Rows::FAILING.replace([klass.new("busy")] * 3)
      topic = topic("rows").deliver("poison").deliver("good")
      assert_equal [["poison"], 2, %w[good]], [topic.dead_letters.map { |letter| letter[:payload] }, topic.done, Rows::DONE.shift(2)], klass
    end
  end

  def test_another_error_of_a_database_is_the_messages
    Rows::FAILING << statement_invalid(NoMethodError.new("nil"))
    assert_equal ["a"], topic("rows").deliver("a").dead_letters.map { |letter| letter[:payload] }
  end

  def test_a_topic_without_a_route
    error = assert_raises(Guildhall::ArgumentError) { topic("order") }
    assert_match(/unknown topic order.*stubborn/, error.message)
  end

  def test_what_would_be_retried_for_ever
    error = assert_raises(Guildhall::TaskError) { topic("stubborn").deliver("x") }
    assert_match(/retried for ever/, error.message)
  end

  private

  def topic(name) = Guildhall::Kafka::Testing.topic(name, application: @application)
end
